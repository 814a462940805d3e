/* Published test vectors, for vectors.c. */
#include "with_kernels.h"

#include <stddef.h>
#include <stdint.h>

/* The message is `text`, `times` over. */
struct sha512_vector {
    const char *name, *text;
    size_t times;
    const char *digest;
};

/* FIPS 180-4: NIST's example values, the empty message, and the long message of a million letters. */
static const struct sha512_vector sha512_vectors[] = {
    {"FIPS 180-4, one block",
     "616263",
     1,
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
     "454d4423643ce80e2a9ac94fa54ca49f"},
    {"FIPS 180-4, two blocks",
     "61626364656667686263646566676869636465666768696a6465666768696a6b65666768696a6b6c666768696a6b6c6d"
     "6768696a6b6c6d6e68696a6b6c6d6e6f696a6b6c6d6e6f706a6b6c6d6e6f70716b6c6d6e6f7071726c6d6e6f70717273"
     "6d6e6f70717273746e6f707172737475",
     1,
     "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018501d289e4900f7e4331b99dec4b5433a"
     "c7d329eeb6dd26545e96e55b874be909"},
    {"FIPS 180-4, empty",
     "",
     1,
     "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f"
     "63b931bd47417a81a538327af927da3e"},
    {"FIPS 180-4, a million letters",
     "61",
     1000000,
     "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce577c31b"
     "eb009c5c2c49aa2e4eadb217ad8cc09b"},
};

/* Key and data in hexadecimal. */
struct hmac_vector {
    const char *name, *key, *data;
    int algorithm;
    const char *mac;
};

/* RFC 4231 (SHA-256 and SHA-512), cases 1 to 4, 6 and 7; RFC 2202 (SHA-1), cases 1, 2 and 6. */
static const struct hmac_vector hmac_vectors[] = {
    {"RFC 4231 case 1, SHA256",
     "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
     "4869205468657265",
     SQLCIPHERKIT_SHA256,
     "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {"RFC 4231 case 1, SHA512",
     "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
     "4869205468657265",
     SQLCIPHERKIT_SHA512,
     "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4"
     "be9d914eeb61f1702e696c203a126854"},
    {"RFC 4231 case 2, SHA256",
     "4a656665",
     "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
     SQLCIPHERKIT_SHA256,
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {"RFC 4231 case 2, SHA512",
     "4a656665",
     "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
     SQLCIPHERKIT_SHA512,
     "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd"
     "caeab1a34d4a6b4b636e070a38bce737"},
    {"RFC 4231 case 3, SHA256",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
     "dddd",
     SQLCIPHERKIT_SHA256,
     "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
    {"RFC 4231 case 3, SHA512",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
     "dddd",
     SQLCIPHERKIT_SHA512,
     "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39bf3e848279a722c806b485a47e67c807"
     "b946a337bee8942674278859e13292fb"},
    {"RFC 4231 case 4, SHA256",
     "0102030405060708090a0b0c0d0e0f10111213141516171819",
     "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
     "cdcd",
     SQLCIPHERKIT_SHA256,
     "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    {"RFC 4231 case 4, SHA512",
     "0102030405060708090a0b0c0d0e0f10111213141516171819",
     "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
     "cdcd",
     SQLCIPHERKIT_SHA512,
     "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3dba91ca5c11aa25eb4d679275cc5788063"
     "a5f19741120c4f2de2adebeb10a298dd"},
    {"RFC 4231 case 6, SHA256",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579"
     "204669727374",
     SQLCIPHERKIT_SHA256,
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {"RFC 4231 case 6, SHA512",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579"
     "204669727374",
     SQLCIPHERKIT_SHA512,
     "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e52"
     "95e64f73f63f0aec8b915a985d786598"},
    {"RFC 4231 case 7, SHA256",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b65"
     "7920616e642061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565"
     "647320746f20626520686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c"
     "676f726974686d2e",
     SQLCIPHERKIT_SHA256,
     "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    {"RFC 4231 case 7, SHA512",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b65"
     "7920616e642061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565"
     "647320746f20626520686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c"
     "676f726974686d2e",
     SQLCIPHERKIT_SHA512,
     "e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944b6022cac3c4982b10d5eeb55c3e4de15"
     "134676fb6de0446065c97440fa8c6a58"},
    {"RFC 2202 case 1, SHA1",
     "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
     "4869205468657265",
     SQLCIPHERKIT_SHA1,
     "b617318655057264e28bc0b6fb378c8ef146be00"},
    {"RFC 2202 case 2, SHA1",
     "4a656665",
     "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
     SQLCIPHERKIT_SHA1,
     "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
    {"RFC 2202 case 6, SHA1",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579"
     "204669727374",
     SQLCIPHERKIT_SHA1,
     "aa4ae5e15272d00e95705637ce8a3b55ed402112"},
};

/* Password, salt and key in hexadecimal. */
struct pbkdf2_vector {
    const char *name, *password, *salt;
    uint32_t iterations;
    int algorithm;
    const char *key;
};

/* RFC 6070 (SHA-1, without its 16,777,216 rounds) and RFC 7914, section 11 (SHA-256). SHA-512 has no vectors in an RFC: here
 * are RFC 6070's parameters with the widely published results, and a password longer than a block. */
static const struct pbkdf2_vector pbkdf2_vectors[] = {
    {"RFC 6070, 1 rounds, password of 8 bytes",
     "70617373776f7264",
     "73616c74",
     1, SQLCIPHERKIT_SHA1,
     "0c60c80f961f0e71f3a9b524af6012062fe037a6"},
    {"RFC 6070, 2 rounds, password of 8 bytes",
     "70617373776f7264",
     "73616c74",
     2, SQLCIPHERKIT_SHA1,
     "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"},
    {"RFC 6070, 4096 rounds, password of 8 bytes",
     "70617373776f7264",
     "73616c74",
     4096, SQLCIPHERKIT_SHA1,
     "4b007901b765489abead49d926f721d065a429c1"},
    {"RFC 6070, 4096 rounds, password of 24 bytes",
     "70617373776f726450415353574f524470617373776f7264",
     "73616c7453414c5473616c7453414c5473616c7453414c5473616c7453414c5473616c74",
     4096, SQLCIPHERKIT_SHA1,
     "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038"},
    {"RFC 6070, 4096 rounds, password of 9 bytes",
     "7061737300776f7264",
     "7361006c74",
     4096, SQLCIPHERKIT_SHA1,
     "56fa6aa75548099dcc37d7f03425e0c3"},
    {"RFC 7914, 1 rounds, password of 6 bytes",
     "706173737764",
     "73616c74",
     1, SQLCIPHERKIT_SHA256,
     "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef31"
     "7c71b845b1e30bd509112041d3a19783"},
    {"RFC 7914, 80000 rounds, password of 8 bytes",
     "50617373776f7264",
     "4e61436c",
     80000, SQLCIPHERKIT_SHA256,
     "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56a1d425a1225833549adb841b51c9b317"
     "6a272bdebba1d078478f62b397f33c8d"},
    {"PBKDF2-HMAC-SHA512, 1 rounds, password of 8 bytes",
     "70617373776f7264",
     "73616c74",
     1, SQLCIPHERKIT_SHA512,
     "867f70cf1ade02cff3752599a3a53dc4af34c7a669815ae5d513554e1c8cf252c02d470a285a0501bad999bfe943c08f"
     "050235d7d68b1da55e63f73b60a57fce"},
    {"PBKDF2-HMAC-SHA512, 2 rounds, password of 8 bytes",
     "70617373776f7264",
     "73616c74",
     2, SQLCIPHERKIT_SHA512,
     "e1d9c16aa681708a45f5c7c4e215ceb66e011a2e9f0040713f18aefdb866d53cf76cab2868a39b9f7840edce4fef5a82"
     "be67335c77a6068e04112754f27ccf4e"},
    {"PBKDF2-HMAC-SHA512, 4096 rounds, password of 8 bytes",
     "70617373776f7264",
     "73616c74",
     4096, SQLCIPHERKIT_SHA512,
     "d197b1b33db0143e018b12f3d1d1479e6cdebdcc97c5c0f87f6902e072f457b5143f30602641b3d55cd335988cb36b84"
     "376060ecd532e039b742a239434af2d5"},
    {"PBKDF2-HMAC-SHA512, 4096 rounds, password of 24 bytes",
     "70617373776f726450415353574f524470617373776f7264",
     "73616c7453414c5473616c7453414c5473616c7453414c5473616c7453414c5473616c74",
     4096, SQLCIPHERKIT_SHA512,
     "8c0511f4c6e597c6ac6315d8f0362e225f3c501495ba23b868c005174dc4ee71115b59f9e60cd9532fa33e0f75aefe30"
     "225c583a186cd82bd4daea9724a3d3b8"},
    {"PBKDF2-HMAC-SHA512, 1000 rounds, password of 192 bytes",
     "70617373776f726450415353574f524470617373776f726470617373776f726450415353574f524470617373776f7264"
     "70617373776f726450415353574f524470617373776f726470617373776f726450415353574f524470617373776f7264"
     "70617373776f726450415353574f524470617373776f726470617373776f726450415353574f524470617373776f7264"
     "70617373776f726450415353574f524470617373776f726470617373776f726450415353574f524470617373776f7264",
     "73616c74",
     1000, SQLCIPHERKIT_SHA512,
     "9424e3efaab9f689ebccd38e08cb6b26fb01a22f24dcf203206aa5d3057f3dbde3ef4006e3d4ec1b6cd4cbdbef2ddcd5"
     "1d6ab78f301841637e7d06fb7a2d2393b7b6c1eedb651bd7d7add922259515e147135fd0c8b5d2424396ea11dda99486"
     "59fc5ee7"},
};
