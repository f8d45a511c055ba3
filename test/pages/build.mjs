// Bundles the apps with the production builds of their frameworks: node test/pages/build.mjs
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = new URL('./', import.meta.url)

/** Compiles components of Svelte. */
const svelte = {
  name: 'svelte',
  async setup(build) {
    const { compile } = await import('svelte/compiler')
    build.onLoad({ filter: /\.svelte$/ }, ({ path }) => {
      const options = { filename: path, generate: 'client', dev: false }
      return { contents: compile(readFileSync(path, 'utf8'), options).js.code, loader: 'js' }
    })
  }
}

/** Bundles every app of the folder apps into the folder built. */
export async function build() {
  const { default: esbuild } = await import('esbuild')
  const apps = readdirSync(new URL('apps/', folder)).filter(name => name.endsWith('.mjs'))
  await esbuild.build({
    entryPoints: apps.map(name => fileURLToPath(new URL(`apps/${name}`, folder))),
    outdir: fileURLToPath(new URL('built/', folder)),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    logLevel: 'error',
    conditions: ['browser', 'production', 'import'],
    define: {
      'process.env.NODE_ENV': '"production"',
      __VUE_OPTIONS_API__: 'false',
      __VUE_PROD_DEVTOOLS__: 'false',
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false'
    },
    plugins: [svelte]
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build()
