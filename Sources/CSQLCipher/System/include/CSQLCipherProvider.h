/* The crypto provider's only clients are the two engines, which include its headers by their paths. */
#pragma once
