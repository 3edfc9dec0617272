// Installs a folder that has a package.json of its own (test/interop, bench): peers and rivals, never the product's dependencies.
// Once per lock file: a stamp in its node_modules says what is there.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { installPackages } from '../bin/npm.js'
import { root } from './bundle.js'

const patienceMs = 2_000

/** True when exactly what the lock file names was installed here, on this kind of machine. */
function isInstalled(folder) {
  try {
    return readFileSync(stampOf(folder), 'utf8') === fingerprint(folder)
  } catch {
    return false
  }
}

/** Answers undefined, or in one line why the packages are not there. `say` hears of it when it takes long. */
export async function installWorkspace(folder, say) {
  if (isInstalled(folder)) return undefined
  const waiting = setTimeout(() => say(`installing the packages of ${folder}, once; please wait …`), patienceMs)
  try {
    const problem = await installPackages(join(root, folder), { more: ['--no-save'] })
    if (problem !== undefined) return `npm install in ${folder} failed: ${problem}`
    writeFileSync(stampOf(folder), fingerprint(folder))
    return undefined
  } catch (error) {
    return `packages of ${folder}: ${error instanceof Error ? error.message : String(error)}`
  } finally {
    clearTimeout(waiting)
  }
}

function stampOf(folder) {
  return join(root, folder, 'node_modules', '.parley-installed')
}

function fingerprint(folder) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`)
  for (const file of ['package.json', 'package-lock.json']) hash.update(readFileSync(join(root, folder, file)))
  return hash.digest('hex')
}
