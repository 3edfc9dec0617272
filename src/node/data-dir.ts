// The data folder of this machine's gateway: made step by step, closed to others, refused in time where it cannot be.
import { mkdir, realpath } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { GatewayError } from '../contract/index.ts'

/** Its path without links. Node's own recursive mkdir never returns below /proc, so each folder is made by itself. */
export async function makeDataDir(dataDir: string): Promise<string> {
  try {
    await makeFolder(resolve(dataDir))
    return await realpath(dataDir)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw new GatewayError(
      'config_invalid',
      `[node] the data folder ${dataDir} cannot be made (${code}); check the path in PARLEY_DATA_DIR and who may write there`,
    )
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    // Tokens and the control socket lie in here: nobody else has to look inside.
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EEXIST') return
    const parent = dirname(path)
    if (code !== 'ENOENT' || parent === path) throw error
    await makeFolder(parent)
    await mkdir(path, { mode: 0o700 }).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'EEXIST') throw again
    })
  }
}
