"""Short texts in seven languages, varied by a generator, for scripts/bench search.

A text names a person, a subject, a city and a time; a judged query names two or three of them, and its targets are the texts that
have all."""

import unicodedata

# A language's names of each, and its sentences. Between `{city}` and `{topic}` of the first sentence stands what also stands
# there where someone types the two in a row.
LANGUAGES = {
    "ja": {
        "person": "田中さん 佐藤さん 鈴木先生 高橋さん 渡辺教授 伊藤さん 山本さん 中村先生 小林さん 加藤さん".split(),
        "topic": "桜祭り 花火大会 古い寺院 伝統工芸 新幹線の歴史 抹茶の作り方 温泉旅行 夜景写真 和紙作り 相撲の稽古 野菜市場 図書館巡り 茶道教室 "
                 "陶芸体験 漫画喫茶 弁当の工夫 紅葉狩り 駅前再開発 自転車道 雪合戦".split(),
        "city": "東京 京都 大阪 札幌 名古屋 福岡 仙台 広島 金沢 長崎 神戸 奈良 鎌倉 那覇 松山 新潟".split(),
        "time": "春 夏 秋 冬 正月 梅雨 連休 年末".split(),
        "joint": "の",
        "text": "{city}の{topic}について、{person}は{time}に長い記事を書いた。とても良かったので、多くの人がもう一度行きたいと言っている。",
    },
    "zh": {
        "person": "王老师 李医生 张工程师 刘教授 陈先生 杨女士 赵记者 黄同学 周经理 吴师傅".split(),
        "topic": "春节庙会 古代建筑 高速铁路 茶叶文化 美食街 夜市小吃 博物馆展览 传统医学 书法比赛 历史地图 公园晨练 电影拍摄 海鲜市场 "
                 "自行车道 剪纸艺术 城墙保护 天文观测 社区花园 环境保护 数据中心".split(),
        "city": "北京 上海 广州 深圳 成都 西安 杭州 南京 武汉 重庆 苏州 青岛 厦门 昆明 哈尔滨 长沙".split(),
        "time": "春天 夏天 秋天 冬天 周末 假期 年底 早上".split(),
        "joint": "的",
        "text": "{person}在{time}写了一篇关于{city}的{topic}的文章，里面有很多照片，读者都说非常有意思，希望明年再去一次。",
    },
    "ko": {
        "person": "김민수 이서연 박지훈 최은영 정하늘 강도윤 조수빈 윤재호 장미란 임성훈".split(),
        "topic": "벚꽃축제 전통시장 한옥마을 고속철도 김치만들기 야경사진 도서관여행 자전거도로 해산물요리 등산모임 영화촬영 도자기공방 "
                 "막걸리양조 서예교실 한글박물관 불꽃놀이 온천여행 농구경기 바다낚시 천문관측".split(),
        "city": "서울 부산 대구 인천 광주 대전 울산 수원 전주 제주 강릉 경주 여수 춘천 포항 목포".split(),
        "time": "봄 여름 가을 겨울 설날 추석 주말 연말".split(),
        "joint": " ",
        "text": "{person}은 {time}에 {city} {topic}에 대한 긴 글을 썼다. 사진이 많아서 읽는 사람들이 모두 다시 가고 싶다고 말했다.",
    },
    "de": {
        "person": "Jürgen Müller|Käthe Schröder|Sören Weiß|Bärbel König|Günther Bäcker|Anke Vogt|"
                  "Dörte Krüger|Uwe Jäger|Ilse Böhm|Ralf Groß".split("|"),
        "topic": "Weihnachtsmarkt Straßenbahn Brückenbau Kräutergarten Wanderwege Fährverbindung Bücherei "
                 "Töpferkurs Höhlenforschung "
                 "Radwegenetz Käserei Glasbläserei Sternwarte Bergwerksmuseum Kläranlage Hafenrundfahrt "
                 "Schlossgärten Mühlentage "
                 "Flugzeughalle Zugverspätung".split(),
        "city": "München Köln Düsseldorf Nürnberg Lübeck Göttingen Tübingen Würzburg Zürich Osnabrück "
                "Görlitz Münster Leipzig Dresden "
                "Rostock Freiburg".split(),
        "time": "Frühling Sommer Herbst Winter Februar Juni August Dezember".split(),
        "joint": " ",
        "text": "In {city} {topic}: {person} hat im {time} einen langen Bericht darüber geschrieben, mit "
                "vielen Bildern, und wer ihn "
                "gelesen hat, möchte noch einmal dorthin fahren.",
    },
    "ru": {
        "person": "Иванов Петрова Сидоров Кузнецова Смирнов Соколова Попов Лебедева Козлов Новикова".split(),
        "topic": "метрополитен ярмарка заповедник обсерватория пароход консерватория мостостроение "
                 "велодорожка библиотека "
                 "фейерверк пекарня судоверфь ледокол краеведение альпинизм живопись шахматы дельфинарий "
                 "электростанция радиовещание".split(),
        "city": "Москва Казань Самара Омск Томск Пермь Уфа Тула Рязань Калуга Псков Вологда Иркутск "
                "Хабаровск Мурманск Тверь".split(),
        "time": "весной летом осенью зимой утром вечером ночью днём".split(),
        "joint": ", ",
        "text": "{city}, {topic}: {person} {time} пишет об этом длинную статью с фотографиями, и читатели "
                "говорят, что хотят поехать "
                "туда ещё раз.",
    },
    "ar": {
        "person": "أحمد فاطمة يوسف مريم خالد ليلى عمر سلمى حسن نورة".split(),
        # Some are written with their vowels, as in schoolbooks; they are typed without.
        "topic": "المكتبة المتحف السوق القطار الحديقة الجسر القلعة المرصد الميناء المسرح المدرسة الجامعة "
                 "المستشفى الملعب "
                 "المُعَلِّمُ الكِتَابُ الخَطَّاطُ المَخْبَزُ السَّفِينَةُ المُهَنْدِسُ".split(),
        "city": "القاهرة دمشق بغداد بيروت عمّان الرباط تونس الجزائر الخرطوم صنعاء مسقط الدوحة الكويت "
                "المنامة طرابلس حلب".split(),
        "time": "الربيع الصيف الخريف الشتاء الصباح المساء رمضان العيد".split(),
        "joint": " ",
        "text": "في {city} {topic} موضوع مقالة طويلة كتبها {person} في {time} مع صور كثيرة، ويقول القراء "
                "إنهم يريدون العودة إلى هناك مرة أخرى.",
    },
    "hi": {
        "person": "अमित सुनीता राजेश प्रियंका विकास मीनाक्षी सुरेश कविता मनोज दीपिका".split(),
        "topic": "किताबघर रेलगाड़ी मेला संग्रहालय मिठाई चित्रकला नदीतट पुस्तकालय विश्वविद्यालय क्रिकेट "
                 "संगीत बुनाई वेधशाला "
                 "बाज़ार किला झील खेती कीमा काम शतरंज".split(),
        "city": "दिल्ली मुंबई कोलकाता चेन्नई जयपुर लखनऊ पटना भोपाल वाराणसी आगरा अमृतसर शिमला इंदौर नागपुर "
                "पुणे सूरत".split(),
        "time": "वसंत गर्मी बरसात सर्दी दिवाली होली सुबह शाम".split(),
        "joint": " ",
        "text": "{city} {topic} के बारे में {person} ने {time} में एक लंबा लेख लिखा, जिसमें बहुत सी "
                "तस्वीरें हैं, और पढ़ने वाले फिर से वहाँ जाना चाहते हैं।",
    },
}

# Where a text is the same with and without marks on its letters. In the other languages a mark makes another letter.
UNMARKED = {"de", "ar"}


def bare(text, language):
    """A text without the marks that people leave out."""
    if language not in UNMARKED:
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


def documents(language, count, choice):
    """Titles, bodies and tags of different texts. The title is the person's and the time's, so that the body has the subject."""
    parts = LANGUAGES[language]
    made = set()
    while len(made) < count:
        made.add(tuple(choice.choice(parts[part]) for part in ("person", "topic", "city", "time")))
    for person, topic, city, time in sorted(made):
        body = parts["text"].format(person=person, topic=topic, city=city, time=time)
        yield f"{person} {time}", body, [language, topic, city]


def queries(language, choice):
    """Endless queries, each with the texts that a target must have: two or three of a document's parts, or city and subject as they
    stand in a row, some of them without marks and in small letters."""
    parts = LANGUAGES[language]
    while True:
        topic, city, person = (choice.choice(parts[part]) for part in ("topic", "city", "person"))
        joined = city + parts["joint"] + topic
        wanted = choice.choice([[topic, city], [city, topic], [person, topic], [topic, city, person], [joined]])
        query = " ".join(wanted)
        yield (bare(query, language).lower() if choice.random() < 0.5 or language == "ar" else query), wanted
