/**
 * addons/preemptify/helpers.mjs: the names by which rewritten text calls the run-time support.
 *
 * The printer and the run-time support share this table, so that the compiler does not load the run-time
 * support.
 */

/**
 * Functions of the run-time support by their names in rewritten text, with the number of parameters that the
 * text passes on.
 *
 * @type {Record<string, { name: string, arity: number }>}
 */
export const HELPERS = {
  t: { name: 'twin', arity: 4 },
  Q: { name: 'withStub', arity: 2 },
  e: { name: 'enter', arity: 1 },
  w: { name: 'awaited', arity: 1 },
  a: { name: 'apply', arity: 3 },
  n: { name: 'construct', arity: 2 },
  g: { name: 'run', arity: 1 },
  q: { name: 'suspended', arity: 0 },
  v: { name: 'over', arity: 0 },
  u: { name: 'again', arity: 0 },
  y: { name: 'wait', arity: 1 },
  c: { name: 'each', arity: 1 },
  k: { name: 'collect', arity: 2 },
  j: { name: 'binding', arity: 1 },
  x: { name: 'making', arity: 1 },
  i: { name: 'iterate', arity: 1 },
  Y: { name: 'produced', arity: 1 },
  d: { name: 'drive', arity: 1 },
  m: { name: 'named', arity: 2 },
  M: { name: 'asMethod', arity: 1 },
  E: { name: 'enterMethod', arity: 1 },
  H: { name: 'frame', arity: 0 },
  S: { name: 'suspend', arity: 3 },
  P: { name: 'plain', arity: 3 },
  W: { name: 'walk', arity: 1 },
  X: { name: 'rethrow', arity: 1 },
  A: { name: 'away', arity: 1 },
  C: { name: 'body', arity: 3 },
  D: { name: 'derived', arity: 3 },
  s: { name: 'superCall', arity: 2 },
  h: { name: 'short', arity: 1 }
}

/**
 * Parameters that a constructor may have whose body is to be skipped: the run-time support passes as many
 * values.
 */
export const MAX_SKIPPED_PARAMETERS = 8

/**
 * What a script begins with. Where nothing is there, it makes a stand-in, which has everything run as it is,
 * and keeps the twins; rt.mjs takes that over when it is imported, or when it is used next. Nothing resumes
 * twins before, so there is always budget left, also where a loop that runs in chunks has thrown.
 */
export const STAND_IN = `globalThis[Symbol.for('rt.mjs')]??=(()=>{` +
  `class S extends function(f){return f}{#t;constructor(f,t){super(f);this.#t=t}` +
  `static get(f){return typeof f==='function'&&#t in f?f.#t:void 0}}` +
  `const{apply,construct}=Reflect,{call}=Function.prototype,{next}=(function*(){})(),budget={get left(){return 1/0},set left(_){},room:1/0},own=f=>f,set=(f,t)=>{new S(f,t)},` +
  `asMethod=f=>typeof f==='function'&&f.call===call?f:{call(self,...args){return apply(f,self,args)}};` +
  `return{budget,runtime:{isStandIn:true,get:S.get,set,apply,construct,enter:own,awaited:own,` +
  `asMethod,enterMethod:asMethod,` +
  `withStub(f,make){return this.twin(make(f),0,f)},` +
  `names(){},` +
  `twin(f,generator,entry=null,self=null){set(f,{generator:generator||void 0,entry,` +
  `awaited:entry===!1?!1:null,self:entry===3||self,target:null,Blank:null,body:void 0});return f},` +
  `run(g){return this.drive(g)},*walk(l){for(const v of l)yield v},each:own,collect:own,binding:own,` +
  `making:own,short(){return true},` +
  `plain:apply,` +
  `drive(g){return apply(next,g,[]).value},` +
  `named(f,value){return Object.defineProperty(f,'name',{value,configurable:true})},nothing:{},` +
  `derived(f,body,flags){this.body(f,{isDerived:true,body:body||null,flags})},` +
  `body(f,body,takesTarget){set(f,{generator:null,entry:f,awaited:null,self:takesTarget||null,target:null,` +
  `Blank:null,body})}}}})()`
