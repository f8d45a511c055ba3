// Packs the package and uses it in fresh projects: `npm run package [name...]`. The tools are npm packages.
// `npm test` runs test/package/package.test.mjs, which needs no tools.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as elapse } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { serve } from '../../examples/server.mjs'
import { findBrowser } from '../browser/process.mjs'
import { browsers } from '../browser/run.mjs'
import { pack } from './pack.mjs'
import { inNode, inPages, inReact, inVite } from './recipes.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const expected = '{"received":4999950000,"isTraced":true,"chart":"function"}'
const scratch = mkdtempSync(join(tmpdir(), 'rt-package-'))
const archive = pack(scratch)

/** A fresh project in which the package and some tools are installed. */
class Project {
  /** @param {string} name @param {string[]} tools */
  constructor(name, tools) {
    this.folder = join(scratch, name)
    mkdirSync(join(this.folder, 'public'), { recursive: true })
    this.write('package.json', '{ "type": "module", "private": true }')
    for (const file of ['app.mjs', 'small.mjs', 'part.mjs']) copyFileSync(join(here, file), join(this.folder, file))
    this.run('npm', 'install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', archive, ...tools)
  }

  /** @param {string} name @param {string} text */
  write(name, text) {
    writeFileSync(join(this.folder, name), text)
  }

  /** @param {string} command @param {string[]} args @returns {string} the output */
  run(command, ...args) {
    const { PATH, ...env } = process.env
    return execFileSync(command, args, {
      cwd: this.folder, env: { ...env, PATH: `${join(this.folder, 'node_modules/.bin')}:${PATH}` }, encoding: 'utf8', stdio: 'pipe'
    }).trim()
  }

  /**
   * Measures a bundle of `{ rt }` alone. Throws if the bundle contains the compiler of preemptify.
   * @param {string} name @returns {string} the minified size and the gzipped size
   */
  sizeOf(name) {
    const text = readFileSync(join(this.folder, name))
    const size = gzipSync(text, { level: 9 }).length
    if (size > 25_000) throw new Error(`${name} has ${size} bytes, gzipped: preemptify was not left out`)
    return `\`{ rt }\` alone: ${text.length} bytes, ${size} gzipped`
  }

  /** Throws if a bundle of channels contains the code of workers. @param {string} name */
  isPart(name) {
    is(this.run('node', name), 'true')
    if (readFileSync(join(this.folder, name), 'utf8').includes('rt.mjs work')) throw new Error(`${name}: Workers were not left out`)
  }

  /**
   * Opens a page of the project in each installed browser and waits for the result in its title.
   * @param {string} [root]
   */
  async open(root = '.') {
    const server = await serve({ root: join(this.folder, root), port: 0 })
    const seen = []
    try {
      for (const kind of ['chromium', 'firefox'].filter(findBrowser)) {
        const browser = await browsers[kind]()
        try {
          await browser.open(`${server.address}/`)
          let title = ''
          for (let i = 0; i < 600 && title === ''; i++) {
            await elapse(50)
            title = await browser.evaluate('document.title')
          }
          const problems = await browser.takeProblems()
          if (title !== expected) throw new Error(`${browser.name}: the page says ${JSON.stringify(title)}. ${problems.join('\n')}`)
          if (problems.length) throw new Error(`${browser.name}: ${problems.join('\n')}`)
          seen.push(browser.name)
        } finally {
          await browser.close()
        }
      }
    } finally {
      await server.close()
    }
    if (!seen.length) throw new Error('no browser was found')
    return seen.join(', ')
  }
}

const is = (said, wanted = expected) => {
  if (said !== wanted) throw new Error(`expected ${wanted}, got ${said}`)
}
const page = script => `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title></title>\n${script}\n`
const esbuild = 'esbuild@0.25.12'

/**
 * Each function uses the package in one way and returns a line for the report.
 * @type {Record<string, () => unknown>}
 */
const consumers = {
  node() {
    const project = new Project('node', [])
    is(project.run('node', 'app.mjs'))
    is(project.run('node', '--import', 'rt.mjs/examples/node/register.mjs?match=/app/', 'app.mjs'))
    return `${process.version}, with the hook too`
  },

  typescript() {
    execFileSync('npm', ['run', '-s', 'types'], { cwd: here, stdio: 'pipe', encoding: 'utf8' })
    return 'strict; uses in test/types'
  },

  'import map'() {
    const project = new Project('import-map', [])
    project.write('index.html', page(`<script type="importmap">{ "imports": {
      "rt.mjs": "/node_modules/rt.mjs/rt.mjs", "rt.mjs/alarms": "/node_modules/rt.mjs/alarms.mjs",
      "rt.mjs/sync": "/node_modules/rt.mjs/sync.mjs", "rt.mjs/preemptify": "/node_modules/rt.mjs/addons/preemptify.mjs",
      "rt.mjs/examples/": "/node_modules/rt.mjs/examples/" } }</script>
      <script type="module" src="app.mjs"></script>`))
    return project.open()
  },

  esbuild() {
    const project = new Project('esbuild', [esbuild])
    const options = ['--bundle', '--minify', '--format=esm', '--target=es2022', '--log-level=warning']
    for (const name of ['app', 'small', 'part']) project.run('esbuild', ...options, `${name}.mjs`, `--outfile=${name}.min.mjs`)
    is(project.run('node', 'app.min.mjs'))
    project.isPart('part.min.mjs')
    return `${project.run('esbuild', '--version')}, ${project.sizeOf('small.min.mjs')}`
  },

  async vite() {
    const project = new Project('vite', ['vite@8.3.8'])
    const output = "rollupOptions: { output: { entryFileNames: '[name].js' } }, modulePreload: false, target: 'es2022'"
    project.write('vite.config.mjs', `export default { build: { ${output} } }`)
    project.write('index.html', page('<script type="module" src="/app.mjs"></script>'))
    project.run('vite', 'build')
    const seen = await project.open('dist')
    project.write('index.html', page('<script type="module" src="/small.mjs"></script>'))
    project.run('vite', 'build')
    return `${project.run('vite', '--version').split(' ')[0]}, ${project.sizeOf('dist/index.js')}; ${seen}`
  },

  rollup() {
    const project = new Project('rollup', ['rollup@4.68.7', '@rollup/plugin-node-resolve@16', esbuild])
    for (const name of ['app', 'small', 'part']) {
      project.run('rollup', '--silent', '-p', 'node-resolve', '-f', 'es', '-o', `${name}.bundle.mjs`, `${name}.mjs`)
    }
    is(project.run('node', 'app.bundle.mjs'))
    project.isPart('part.bundle.mjs')
    project.run('esbuild', '--minify', '--log-level=warning', 'small.bundle.mjs', '--outfile=small.min.mjs')
    return `${project.run('rollup', '--version')}, ${project.sizeOf('small.min.mjs')}`
  },

  deno() {
    const project = new Project('deno', ['deno@2.9.6'])
    is(project.run('deno', 'run', '--no-remote', 'app.mjs'))
    return project.run('deno', '--version').split('\n')[0]
  },

  'recipes in Node': () => inNode(new Project('recipes-node', [])),
  'recipes in pages': () => inPages(new Project('recipes-pages', ['fuse.js', 'marked'])),
  'recipes in Vite': () => inVite(new Project('recipes-vite', ['fuse.js', 'marked', 'vite@8.3.8'])),
  'recipes in React': () => inReact(new Project('recipes-react', ['react@19', 'react-dom@19', 'vite@8.3.8'])),

  bun() {
    const project = new Project('bun', ['bun@1.4.5'])
    // Moves the executable that npm has installed into place.
    project.run('node', 'node_modules/bun/install.js')
    is(project.run('bun', 'app.mjs'))
    return project.run('bun', '--version')
  }
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(consumers)
try {
  for (const name of names) {
    try {
      console.log(`ok   ${name}: ${await consumers[name]()}`)
    } catch (error) {
      console.log(`FAIL ${name}: ${[error.message, error.stdout, error.stderr].filter(Boolean).join('\n')}`)
      process.exitCode = 1
    }
  }
} finally {
  rmSync(scratch, { recursive: true })
}
