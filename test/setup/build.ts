// Bundles the program once per run: several suites start it, and none may find it half written.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onceInRun } from './once-in-run.ts'

const scripts = ['build.js', 'build-commands.js']

export async function setup(): Promise<void> {
  await onceInRun('build', async () => {
    for (const name of scripts) {
      const script = fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url))
      await promisify(execFile)(process.execPath, [script, '--quiet'])
    }
  })
}
