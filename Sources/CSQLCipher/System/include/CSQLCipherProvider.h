/* The crypto provider, which both engines use, has no clients but them: they include what they need by its path. */
#pragma once
