/** The phases of preemptify, from another instance of its modules. */
import { instance } from './bundle.mjs'

/** @param {...string} names names of top-level declarations @returns {any} their values, by name */
export const internals = (...names) => instance(['addons/preemptify.mjs', 'rt.mjs'], names)
