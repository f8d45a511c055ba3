import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Packs the package.
 *
 * @param {string} project directory for the archive
 * @param {{ declared?: boolean }} [options] `declared`: include the types, which requires tsc
 * @returns {string} the path of the archive
 */
export function pack(project, { declared = true } = {}) {
  const options = ['--silent', '--pack-destination', project, ...(declared ? [] : ['--ignore-scripts'])]
  execFileSync('npm', ['pack', ...options], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  return join(project, readdirSync(project).find(name => name.endsWith('.tgz')))
}

/**
 * Packs the package and unpacks it into `node_modules` of a project.
 * @param {string} project
 * @param {{ declared?: boolean }} [options]
 */
export function install(project, options) {
  const archive = pack(project, options)
  const installed = join(project, 'node_modules', 'rt.mjs')
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', archive, '--strip-components=1', '-C', installed])
  rmSync(archive)
}
