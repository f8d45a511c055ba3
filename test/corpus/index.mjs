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
 * Algorithms for what works on other people's functions: textbook code in the habits of several hands (var
 * and let, with braces and without, with semicolons and without), none of it written to be rewritten.
 *
 * A function of the corpus refers to nothing but its parameters, its own variables, globals, itself, and the
 * names in `calls` and `scope`.
 *
 * @typedef {object} Entry
 * @property {string} name
 * @property {'loop' | 'calls' | 'recursive' | 'mixed'} kind what it spends its time on: loops, calls of other
 *   functions of the corpus, calls of itself, or several of these
 * @property {(...args: any[]) => any} fn it may change its arguments; where it is async, what its promise
 *   gives is the result
 * @property {Record<string, (...args: any[]) => any>} [calls] functions that it calls under these names, and
 *   they each other: all of them are to be preemptible
 * @property {Record<string, any>} [scope] values that it and those in `calls` refer to under these names
 * @property {(size: number) => any[]} inputs fresh arguments, the same ones for the same size
 * @property {number[]} sizes for tests: some thousand rounds at most; with some of them `fn` throws
 * @property {number} benchSize for benches: some ms
 */

/** @type {Entry[]} */
export const corpus = [
  // loops
  matrixProduct, sha256, fft, levenshtein, lexerCharacters, lexerRegex, lzCompress, lzDecompress, sieve,
  mandelbrot, crc32, base64, life, lifeTorus, wordCount, knapsack, floydWarshall, gauss, machine, closures,
  differences, asyncConsumer,
  // calls of each other
  aes, heapsort, nBody, dijkstra, asyncPipeline,
  // calls of themselves
  fib, quicksort, mergeSort, nQueens, hanoi, ackermann, permutations, clone,
  // several of these
  jsonParser, markdown
]
