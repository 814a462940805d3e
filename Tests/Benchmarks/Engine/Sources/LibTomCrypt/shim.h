#include <tomcrypt.h>
