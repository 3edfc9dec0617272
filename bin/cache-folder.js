// Where the program keeps what it can make or fetch again: its compiled code, a newer Node. Plain syntax: this file must load on old versions.
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const packageRoot = join(dirname(fileURLToPath(import.meta.url)), '..')

/** The checkout's own cache, then the user's: a checkout may belong to another user. Never a folder that others may write to. */
export function listCacheFolders() {
  const modules = join(packageRoot, 'node_modules')
  const checkoutFolder = existsSync(modules) ? join(modules, '.cache', 'parley') : undefined
  return [checkoutFolder, userCacheFolder()].filter((path) => path !== undefined)
}

/** The first cache folder that can be written to; undefined when there is none. */
export function createCacheFolder() {
  return listCacheFolders().find((path) => {
    try {
      mkdirSync(path, { recursive: true })
      accessSync(path, constants.W_OK)
      return true
    } catch {
      return false
    }
  })
}

function userCacheFolder() {
  const configured = process.env['XDG_CACHE_HOME'] || ''
  if (isAbsolute(configured)) return join(configured, 'parley')
  const home = findHome()
  if (!isAbsolute(home)) return undefined
  return process.platform === 'darwin' ? join(home, 'Library', 'Caches', 'parley') : join(home, '.cache', 'parley')
}

/** A user whose number has no name (`docker run --user 12345`) may have no home either, and Node throws. */
function findHome() {
  try {
    return homedir()
  } catch {
    return ''
  }
}
