/*
** Guards for scripts that nobody trusts.
*/

#include <stddef.h>

#define lguard_c
#define LUA_CORE

#include "lua.h"

#include "lapi.h"
#include "ldebug.h"
#include "ldo.h"
#include "lgc.h"
#include "lobject.h"
#include "lstate.h"
#include "ltable.h"
#include "lguard.h"


/* tables and the registry; others have no flag */
static Table *tableat (lua_State *L, int idx) {
  Table *h = NULL;
  lua_pushvalue(L, idx);
  if (ttistable(L->top - 1)) h = hvalue(L->top - 1);
  lua_pop(L, 1);
  return h;
}


LUA_API void guard_setreadonly (lua_State *L, int idx, int readonly) {
  Table *h = tableat(L, idx);
  if (h != NULL) h->readonly = (lu_byte)(readonly != 0);
}


LUA_API int guard_isreadonly (lua_State *L, int idx) {
  Table *h = tableat(L, idx);
  return h != NULL && h->readonly;
}


LUA_API int guard_refill (lua_State *L, int idx, int n) {
  Table *h = tableat(L, idx);
  int i;
  if (h == NULL || h->metatable != NULL || !luaH_isempty(h)) return 0;
  for (i = n; i < h->sizearray; i++)
    setnilvalue(&h->array[i]);
  if (h->sizearray != n) luaH_resizearray(L, h, n);
  return 1;
}


LUA_API void guard_setmemorylimit (lua_State *L, size_t bytes) {
  G(L)->memorylimit = bytes;
}


/*
** Garbage may at most fill half of what is left: an allocation that fails
** cannot wait for a collection.
*/
lu_mem guard_threshold (global_State *g) {
  lu_mem usual = (g->estimate/100) * g->gcpause;
  if (g->memorylimit != 0) {
    lu_mem left = (g->memorylimit > g->estimate) ? g->memorylimit - g->estimate : 0;
    if (usual > g->estimate + left/2) return g->estimate + left/2;
  }
  return usual;
}


/*
** The error function of an `xpcall' would run without hooks inside this one,
** for any time, so it is left out.
*/
static void unwind (lua_State *L) {
  L->errfunc = 0;
  luaD_throw(L, LUA_ERRRUN);
}


LUA_API void guard_kill (lua_State *L) {
  G(L)->killed = 1;
  lua_sethook(L, L->hook, LUA_MASKLINE | LUA_MASKCOUNT, 1);
  lua_pushlightuserdata(L, NULL);  /* needs no memory */
  unwind(L);
}


LUA_API int guard_iskilled (lua_State *L) {
  return G(L)->killed;
}


LUA_API void guard_passkill (lua_State *L) {
  if (G(L)->killed) unwind(L);
}


LUA_API void guard_endrun (lua_State *L) {
  global_State *g = G(L);
  g->killed = 0;
  g->gcpause = LUAI_GCPAUSE;
  g->gcstepmul = LUAI_GCMUL;
  if (g->GCthreshold == MAX_LUMEM) g->GCthreshold = g->totalbytes;
}


LUA_API void guard_passcount (lua_State *from, lua_State *to) {
  to->hookcount = from->hookcount;
}


LUA_API void guard_poll (lua_State *L, int instructions) {
  if (!(L->hookmask & LUA_MASKCOUNT)) return;
  L->hookcount -= instructions;
  if (L->hookcount <= 0) {
    resethookcount(L);
    luaD_callhook(L, LUA_HOOKCOUNT, -1);
  }
}
