/*
** Guards for scripts that nobody trusts.
** What is changed in other files is marked with `guard' there.
*/

#ifndef lguard_h
#define lguard_h

#include "lua.h"

/* levels of a long bracket: `[====[' has four */
#define GUARD_BRACKET_LEVELS	100000

/* calls of the pattern matcher inside each other */
#define GUARD_MATCH_DEPTH	1000

/* makes a table read-only, or writable again */
LUA_API void guard_setreadonly (lua_State *L, int idx, int readonly);
LUA_API int guard_isreadonly (lua_State *L, int idx);

/* makes a table one of n elements, which are to be set; 0 if it has fields */
LUA_API int guard_refill (lua_State *L, int idx, int n);

/* the collector works harder near this many bytes; 0 is no limit */
LUA_API void guard_setmemorylimit (lua_State *L, size_t bytes);

/* ends what runs: nothing in the script can catch this */
LUA_API void guard_kill (lua_State *L);
LUA_API int guard_iskilled (lua_State *L);

/* behind a run: what it did to the collector is undone, and a kill is over */
LUA_API void guard_endrun (lua_State *L);

/* goes on unwinding if the script was killed; the error is on the top */
LUA_API void guard_passkill (lua_State *L);

/* another coroutine runs: instructions are counted on, so that work in many short ones is seen */
LUA_API void guard_passcount (lua_State *from, lua_State *to);

/* counts work of a library function as instructions, for the count hook */
LUA_API void guard_poll (lua_State *L, int instructions);

#if defined(lstate_h)
#define guard_writable(L,h) \
	{ if ((h)->readonly) luaG_runerror(L, "Attempt to modify a readonly table"); }

/* code of a script must not run inside the collector, so nothing is finalized */
#define guard_unfinalized(L,o)	((void)(L), (void)(o), 1)

LUAI_FUNC lu_mem guard_threshold (global_State *g);
#endif

#endif
