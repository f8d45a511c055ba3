/**
 * addons/preemptify/helpers.mjs: the names with which rewritten text calls the run-time support.
 *
 * The printer and the run-time support share this table, so that the compiler does not load the run-time
 * support.
 */

import { SITES_PER_SCRIPT, STAND_IN_SITES } from './claims.mjs'
import { holds, slice, split } from './primordials.mjs'

/**
 * Functions of the run-time support by their letters in rewritten text, with the number of passed arguments.
 * Rewritten text also declares variables with the letters BDGIKNTUVlor.
 *
 * @type {Record<string, { name: string, arity: number }>}
 */
export const HELPERS = {
  t: { name: 'twin', arity: 5 },
  D: { name: 'titledTwin', arity: 5 },
  e: { name: 'enter', arity: 2 },
  w: { name: 'awaited', arity: 2 },
  a: { name: 'apply', arity: 3 },
  n: { name: 'make', arity: 3 },
  g: { name: 'run', arity: 1 },
  q: { name: 'suspended', arity: 0 },
  v: { name: 'over', arity: 0 },
  u: { name: 'again', arity: 0 },
  y: { name: 'wait', arity: 1 },
  c: { name: 'each', arity: 2 },
  k: { name: 'collect', arity: 2 },
  j: { name: 'binding', arity: 1 },
  x: { name: 'making', arity: 1 },
  i: { name: 'iterate', arity: 1 },
  Y: { name: 'produced', arity: 1 },
  d: { name: 'drive', arity: 1 },
  m: { name: 'named', arity: 2 },
  M: { name: 'asMethod', arity: 3 },
  E: { name: 'enterMethod', arity: 3 },
  H: { name: 'frame', arity: 0 },
  S: { name: 'suspend', arity: 3 },
  P: { name: 'plain', arity: 3 },
  W: { name: 'walk', arity: 2 },
  X: { name: 'rethrow', arity: 1 },
  A: { name: 'away', arity: 1 },
  C: { name: 'body', arity: 3 },
  R: { name: 'derived', arity: 3 },
  s: { name: 'superCall', arity: 2 },
  h: { name: 'short', arity: 1 },
  O: { name: 'whole', arity: 3 },
  z: { name: 'ownLock', arity: 0 },
  Z: { name: 'first', arity: 2 },
  Q: { name: 'claimed', arity: 0 },
  J: { name: 'claimArguments', arity: 2 },
  F: { name: 'argumentsOf', arity: 2 },
  L: { name: 'later', arity: 3 }
}

/**
 * Returns the text of the helper with which a plain call outside jobs claims its arguments. The helper
 * receives `changes` (see `claimArguments`), `this` and up to MAX_CLAIMED arguments.
 *
 * @param {string} name the name of the helper
 * @param {string} runtime an expression for the run-time support
 * @param {string} budget an expression for the budget
 */
export const claimingHelper = (name, runtime, budget) => `function ${name}(c,t,a,b,d,e,f,g,h,i)` +
  `{${budget}.i&&${runtime}.claimArguments(c,[t,a,b,d,e,f,g,h,i])}`
const MAX_CLAIMED = 8

/** Whether this helper accepts all arguments. @param {string} identity the property of a Plan */
export const isShortList = identity => !holds(identity, '...') &&
  split(identity, ',').length <= MAX_CLAIMED + 2

/** Returns the text of `changes` and a list of arguments. @param {string} identity the property of a Plan */
export function listed(identity) {
  const { 0: changes } = split(identity, ',')
  return `${changes},[${slice(identity, changes.length + 1)}]`
}

/**
 * Maximum number of parameters of a constructor whose body can be skipped. The run-time support passes this
 * number of values.
 */
export const MAX_SKIPPED_PARAMETERS = 8

/**
 * Returns the start of a script: an expression for the object with the run-time support. The first script
 * makes a stand-in, which calls all functions natively and collects the twins. rt.mjs takes over the twins
 * when it is imported or next used. Without rt.mjs, no scheduler can resume a twin. So the stand-in always
 * has budget left, even after a loop that runs in chunks has thrown.
 *
 * A CommonJS file or a script may declare `Symbol`, `Reflect`, `Object` or `Function`. So the text gets these
 * objects from values.
 *
 * @param {string} realm an expression for the global object
 */
export const standInOf = realm => `(G=>{const O=({}).constructor,` +
  `{getPrototypeOf,getOwnPropertySymbols,defineProperty}=O,` +
  `k=getOwnPropertySymbols(getPrototypeOf([]))[0].constructor.for('rt.mjs');return G[k]??=(()=>{` +
  `class S extends function(f){return f}{#t;constructor(f,t){super(f);this.#t=t}` +
  `static get(f){return typeof f==='function'&&#t in f?f.#t:void 0}}` +
  `const{call,apply:of}=S,apply=call.bind(of),{next}=(function*(){})(),` +
  `budget={get left(){return 1/0},set left(_){},room:1/0,s:null,i:0},own=f=>f,set=(f,t)=>{new S(f,t)},` +
  `asMethod=f=>typeof f==='function'&&f.call===call?f:{call(self,...args){return apply(f,self,args)}};` +
  `return{budget,runtime:{isStandIn:true,get:S.get,set,apply,make(F,l){return new F(...l)},` +
  `enter:own,awaited:own,` +
  `asMethod,enterMethod:asMethod,` +
  `names(){},locks:[],said:[],first:own,argumentsOf(){return{P(){}}},` +
  `sites(n){return this.said.push(n)*${SITES_PER_SCRIPT}+${STAND_IN_SITES - SITES_PER_SCRIPT}},` +
  `lockOf(names,isContested,isExporting){const l={h:null,r:null,names,isContested,isExporting};` +
  `this.locks.push(l);return l},` +
  `ownLock(){return this.lockOf()},` +
  `titledTwin(...l){return this.twin(...l)},` +
  `twin(f,generator,entry=null,self=null,changes=0){set(f,{generator:generator||void 0,entry,changes,` +
  `awaited:entry===!1?!1:null,self:entry===3||self,target:null,Blank:null,body:void 0,` +
  `outer:null});return f},` +
  `run(g){return this.drive(g)},*walk(l){for(const v of l)yield v},each:own,collect:own,binding:own,` +
  `making:own,short(){return true},` +
  `plain:apply,wholes:[],whole(...l){this.wholes.push(l);return l[0]},` +
  `drive(g){return apply(next,g,[]).value},` +
  `named(f,value){return defineProperty(f,'name',{value,configurable:true})},nothing:{},` +
  `derived(f,body,flags){this.body(f,{isDerived:true,body:body||null,flags})},` +
  `body(f,body,takesTarget){set(f,{changes:0,generator:null,entry:f,awaited:null,self:takesTarget||null,` +
  `target:null,` +
  `Blank:null,body,outer:null})}` +
  `}}})()})(${realm})`
