// Bundles the program once per run: several files start it, and none may find it half written.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export async function setup(): Promise<void> {
  const script = fileURLToPath(new URL('../../scripts/build.js', import.meta.url))
  await promisify(execFile)(process.execPath, [script, '--quiet'])
}
