/**
 * addons/preemptify/effects-tables.mjs: the effects of built-in functions and methods.
 *
 * Each function has a word of letters. A function without a word is unknown: its arguments leave, and its
 * result can be any object.
 *
 *   effects  w  writes the receiver (of a method) or the first argument (of a function)
 *            s  the same, and stores the arguments in it
 *            x  moves `lastIndex` of the receiver
 *            l  the arguments leave: the engine keeps them
 *   calls    c  calls the first argument with an element, a number and the receiver
 *            y  with c: the number is an element of a Map
 *            k  calls the first argument with two elements
 *            d  calls the first argument with its own earlier result, an element, a number and the receiver
 *            p  calls its arguments with primitive values
 *            t  turns the elements into primitive values
 *   results  n  a primitive value
 *            z  a new object that holds only primitive values
 *            f  a new object that holds the elements
 *            a  a new object that holds the elements and the arguments
 *            o  a new object that holds the results of the callback
 *            m  the same, and the elements of these results
 *            q  a new object that holds pairs of the elements
 *            i  a new object that holds the elements, and pairs of the elements
 *            j  a new object that holds itself, because its parts are new too
 *            e  an element
 *            r  the receiver, or the first argument
 *            u  any object
 */

import { forEach, split } from './primordials.mjs'

/** @param {string[][]} rows words, and the names that they are for @returns {any} */
function tableOf(rows) {
  /** @type {any} */
  const table = { __proto__: null }
  for (let i = 0; i < rows.length; i++) {
    const { 0: word, 1: names } = rows[i]
    forEach(split(names, ' '), name => { table[name] = word })
  }
  return table
}

/** The effects of built-in methods by their names. */
export const METHODS = /* @__PURE__ */ tableOf([
  ['n', 'charAt charCodeAt codePointAt indexOf lastIndexOf'],
  ['n', 'includes startsWith endsWith padStart padEnd repeat'],
  ['n', 'substr substring toLowerCase toUpperCase'],
  ['n', 'toLocaleLowerCase toLocaleUpperCase trim trimStart trimEnd'],
  ['n', 'trimLeft trimRight normalize localeCompare'],
  ['n', 'isWellFormed toWellFormed search toString toLocaleString'],
  ['n', 'toFixed toPrecision toExponential toISOString toUTCString'],
  ['n', 'toDateString toTimeString toJSON has'],
  ['n', 'toLocaleDateString toLocaleTimeString hasOwnProperty isPrototypeOf propertyIsEnumerable'],
  ['n', 'getTime getDate getDay getFullYear getMonth getHours getMinutes getSeconds getMilliseconds getYear'],
  ['n', 'getUTCDate getUTCDay getUTCFullYear getUTCMonth getUTCHours getUTCMinutes getUTCSeconds'],
  ['n', 'getUTCMilliseconds getTimezoneOffset getInt8 getInt16 getInt32 getUint8 getUint16 getUint32'],
  ['n', 'getFloat32 getFloat64 getBigInt64 getBigUint64'],
  ['cn', 'some every findIndex findLastIndex'],
  ['cyn', 'forEach'],
  ['tn', 'join'],
  ['pn', 'replace replaceAll'],
  ['z', 'split'],
  ['j', 'match matchAll'],
  ['xj', 'exec'],
  ['xn', 'test'],
  ['f', 'slice keys values toReversed'],
  ['q', 'entries'],
  ['i', '@iterator'],
  ['a', 'concat with toSpliced flat'],
  ['cf', 'filter'],
  ['kf', 'toSorted'],
  ['co', 'map'],
  ['cm', 'flatMap'],
  ['de', 'reduce reduceRight'],
  ['e', 'at get'],
  ['ce', 'find findLast'],
  ['we', 'pop shift'],
  ['wlf', 'next'],
  ['sn', 'push unshift'],
  ['sf', 'splice'],
  ['sr', 'set add fill'],
  ['wn', 'delete clear'],
  ['wr', 'reverse copyWithin'],
  ['wkr', 'sort'],
  ['r', 'valueOf subarray'],
  ['wn', 'setTime setDate setFullYear setMonth setHours setMinutes setSeconds setMilliseconds setUTCDate'],
  ['wn', 'setUTCFullYear setUTCMonth setUTCHours setUTCMinutes setUTCSeconds setUTCMilliseconds'],
  ['wn', 'setInt8 setInt16 setInt32 setUint8 setUint16'],
  ['wn', 'setUint32 setFloat32 setFloat64 setBigInt64 setBigUint64'],
  ['z', 'encode'],
  ['wn', 'decode'],
  ['lu', 'then catch finally']
])

/** The effects of built-in functions by their paths. */
export const FUNCTIONS = /* @__PURE__ */ tableOf([
  ['n', 'Array.isArray Object.is Object.hasOwn Object.isFrozen Object.isSealed Object.isExtensible parseInt'],
  ['n', 'parseFloat isNaN isFinite encodeURI'],
  ['n', 'encodeURIComponent decodeURI decodeURIComponent escape unescape'],
  ['n', 'String Number Boolean BigInt Symbol JSON.stringify Reflect.has Reflect.isExtensible'],
  ['n', 'Buffer.isBuffer'],
  ['n', 'clearTimeout clearInterval clearImmediate cancelAnimationFrame ArrayBuffer.isView'],
  ['z', 'Object.keys Object.getOwnPropertyNames Object.getOwnPropertySymbols Reflect.ownKeys Array Date'],
  ['z', 'Error TypeError RangeError SyntaxError EvalError URIError ReferenceError AggregateError'],
  ['j', 'JSON.parse structuredClone'],
  ['f', 'Object.values Object.getOwnPropertyDescriptor'],
  ['q', 'Object.entries Object.getOwnPropertyDescriptors'],
  ['a', 'Object.fromEntries'],
  ['co', 'Array.from'],
  ['cz', 'Int8Array.from Uint8Array.from Uint8ClampedArray.from Int16Array.from Uint16Array.from'],
  ['cz', 'Int32Array.from Uint32Array.from Float32Array.from'],
  ['cz', 'Float64Array.from BigInt64Array.from BigUint64Array.from'],
  ['a', 'Array.of Object.create'],
  ['sr', 'Object.assign Object.defineProperty Object.defineProperties Object.setPrototypeOf Reflect.set'],
  ['sr', 'Reflect.defineProperty Reflect.setPrototypeOf'],
  ['wn', 'Reflect.deleteProperty'],
  ['r', 'Object'],
  ['wr', 'Object.freeze Object.seal Object.preventExtensions'],
  ['wn', 'Atomics.add Atomics.and Atomics.compareExchange Atomics.exchange Atomics.or Atomics.store'],
  ['wn', 'Atomics.sub Atomics.xor'],
  ['e', 'Reflect.get'],
  ['u', 'Object.getPrototypeOf Reflect.getPrototypeOf'],
  ['ln', 'setTimeout setInterval setImmediate queueMicrotask requestAnimationFrame requestIdleCallback']
])

/** Built-in objects whose unlisted functions only read their arguments and return primitive values. */
export const QUIET = /^(?:Math|Number|String|Date|BigInt|Symbol|console|performance|Atomics)\./

/** Names of built-in values. */
export const ENGINE = /* @__PURE__ */ new RegExp('^(?:Math|Number|String|Date|BigInt|Symbol|console|' +
  'performance|Buffer|' +
  'Atomics|Array|ArrayBuffer|SharedArrayBuffer|Boolean|DataView|Object|RegExp|URL|URLSearchParams|Map|Set|' +
  'Weak(?:Map|Ref|Set)|\\w*Error|(?:Uint|Int|Float|Big(?:Ui|I)nt)\\d+(?:Clamped)?Array|Text(?:En|De)coder|' +
  'parse(?:Int|Float)|is(?:NaN|Finite)|(?:en|de)codeURI(?:Component)?|(?:un)?escape|JSON|Reflect|Intl|' +
  'Proxy|' +
  'Promise|Function|(?:set|clear)(?:Timeout|Interval|Immediate)|queueMicrotask|structuredClone|' +
  '(?:request|cancel)(?:AnimationFrame|IdleCallback)|AbortController|eval)$')

/** Built-in classes whose objects have only built-in methods. */
export const CONTAINER = /* @__PURE__ */ new RegExp('^(?:Map|Set|Weak(?:Map|Ref|Set)|Array|ArrayBuffer|' +
  'SharedArrayBuffer|DataView|Date|URL|URLSearchParams|Text(?:En|De)coder|Boolean|Number|String|' +
  '(?:Uint|Int|Float|Big(?:Ui|I)nt)\\d+(?:Clamped)?Array|Intl\\.\\w+|\\w*Error)$')

/** Names of the global object. */
export const GLOBAL_OBJECT = /^(?:globalThis|window|self|global)$/

/** Free names that hold primitive values. */
export const PRIMITIVE_NAME = /^(?:undefined|NaN|Infinity)$/

/** Properties that hold primitive values in every kind of object. */
export const PRIMITIVE_PROPERTY = /^(?:length|byteLength|byteOffset|lastIndex|nodeType)$/

/** Methods of the document that find a node, and the mark of their selector. */
export const FINDS_NODE = /^(?:getElementById|querySelector)$/

/** Methods of nodes that change the document. */
export const CHANGES_NODE = /* @__PURE__ */ new RegExp('^(?:append\\w*|prepend|before|after|replace\\w*|' +
  'remove\\w*|insert\\w*|set\\w*|' +
  'toggle\\w*|add|normalize|write\\w*|focus|blur|select|scroll\\w*|show\\w*|close|reset|submit|click|' +
  'animate)$')
