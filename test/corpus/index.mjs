import ackermann from './ackermann.mjs'
import aes from './aes.mjs'
import asyncConsumer from './async-consumer.mjs'
import asyncPipeline from './async-pipeline.mjs'
import base64 from './base64.mjs'
import clone from './clone.mjs'
import closures from './closures.mjs'
import crc32 from './crc32.mjs'
import differences from './differences.mjs'
import dijkstra from './dijkstra.mjs'
import fft from './fft.mjs'
import fib from './fib.mjs'
import floydWarshall from './floyd-warshall.mjs'
import gauss from './gauss.mjs'
import hanoi from './hanoi.mjs'
import heapsort from './heapsort.mjs'
import jsonParser from './json-parser.mjs'
import knapsack from './knapsack.mjs'
import levenshtein from './levenshtein.mjs'
import lexerCharacters from './lexer-characters.mjs'
import lexerRegex from './lexer-regex.mjs'
import lifeTorus from './life-torus.mjs'
import life from './life.mjs'
import { lzCompress, lzDecompress } from './lz.mjs'
import machine from './machine.mjs'
import mandelbrot from './mandelbrot.mjs'
import markdown from './markdown.mjs'
import matrixProduct from './matrix-product.mjs'
import mergeSort from './merge-sort.mjs'
import nBody from './n-body.mjs'
import nQueens from './n-queens.mjs'
import permutations from './permutations.mjs'
import quicksort from './quicksort.mjs'
import sha256 from './sha256.mjs'
import sieve from './sieve.mjs'
import wordCount from './word-count.mjs'

/**
 * Algorithms as test inputs for code that transforms functions. They are textbook code in several styles: var
 * and let, with braces and without, with semicolons and without. No algorithm was written for the rewriter.
 *
 * A function of the corpus refers only to its parameters, its own variables, globals, itself, and the names
 * in `calls` and `scope`.
 *
 * @typedef {object} Entry
 * @property {string} name
 * @property {'loop' | 'calls' | 'recursive' | 'mixed'} kind the work that dominates the run time: loops,
 *   calls of other functions of the corpus, recursion, or several of these
 * @property {(...args: any[]) => any} fn the algorithm, which may change its arguments. The result of an
 *   async algorithm is the value of its promise.
 * @property {Record<string, (...args: any[]) => any>} [calls] functions that `fn` and the functions in
 *   `calls` call under these names. All of them must become preemptible.
 * @property {Record<string, any>} [scope] values to which `fn` and the functions in `calls` refer by these
 *   names
 * @property {(size: number) => any[]} inputs creates arguments, always equal ones for the same size
 * @property {number[]} sizes the input sizes for tests, which take at most some thousand iterations. With
 *   some of them `fn` throws.
 * @property {number} benchSize the input size for benchmarks, which take some ms
 */

/** @type {Entry[]} */
export const corpus = [
  // loops
  matrixProduct, sha256, fft, levenshtein, lexerCharacters, lexerRegex, lzCompress, lzDecompress, sieve,
  mandelbrot, crc32, base64, life, lifeTorus, wordCount, knapsack, floydWarshall, gauss, machine, closures,
  differences, asyncConsumer,
  // calls of other functions of the corpus
  aes, heapsort, nBody, dijkstra, asyncPipeline,
  // recursion
  fib, quicksort, mergeSort, nQueens, hanoi, ackermann, permutations, clone,
  // several of these
  jsonParser, markdown
]
