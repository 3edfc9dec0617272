// `npm run chaos`: bundles the crash tests and the process under test like the product, and runs them with the arguments given.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { onModernNode } from '../bin/modern-node.js'
import { bundle, emailThread, root } from './bundle.js'

await onModernNode(async () => {
  const outfile = 'dist/chaos.js'
  try {
    const entry = 'test/chaos/subject.ts'
    await bundle({ entry, outfile: 'dist/subject.js' })
    await bundle({ entry, outfile: 'dist/subject-older.js', rowVersionBy: -1 })
    await bundle({ entry, outfile: 'dist/subject-newer.js', rowVersionBy: 1 })
    await bundle(emailThread)
    await bundle({ entry: 'test/chaos/main.ts', outfile })
    // The crash test `strangers` is about the program itself.
    await run(join(root, 'scripts/build.js'), '--quiet')
  } catch (error) {
    console.error(`build of the crash tests failed: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
    return
  }
  process.exitCode = await run('--enable-source-maps', join(root, outfile), ...process.argv.slice(2))
})

function run(...args) {
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)))
}
