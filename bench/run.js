// `npm run bench`: bundles the driver and the subjects like the product, and runs the driver with the arguments given.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { onModernNode } from '../bin/modern-node.js'
import { bundle, emailThread, root } from '../scripts/bundle.js'
import { installWorkspace } from '../scripts/install-workspace.js'

const ownSubjects = ['parley', 'bare', 'full']

await onModernNode(async () => {
  // Only these scenarios have rivals; they are the bench's own packages.
  const hasRivals =
    ['a2a', 'activitypub', 'journey', 'render', 'slack', 'telegram'].some((scenario) =>
      process.argv.includes(scenario),
    ) && !isJourneyWithoutRivals(process.argv)
  const problem = hasRivals ? await installWorkspace('bench', console.error) : undefined
  if (problem !== undefined) {
    console.error(`the rivals cannot be had: ${problem}`)
    process.exitCode = 3
    return
  }
  const outfile = 'dist/bench.js'
  try {
    await bundle({ entry: 'bench/subject.ts', outfile: 'dist/bench-subject.js' })
    await bundle(emailThread)
    await bundle({ entry: 'bench/main.ts', outfile })
    if (process.argv.includes('strangers')) {
      await bundle({ entry: 'bench/strangers/watch-health.ts', outfile: 'dist/bench-health.js' })
      // Its subject is the program itself.
      await run(join(root, 'scripts/build.js'), '--quiet')
    }
  } catch (error) {
    console.error(`build of the bench failed: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
    return
  }
  process.exitCode = await run('--enable-source-maps', join(root, outfile), ...process.argv.slice(2))
})

/** References are files of the checkout: nothing has to be installed for them. */
function isJourneyWithoutRivals(args) {
  const subjects = args[args.indexOf('--subjects') + 1]?.split(',')
  return args.includes('journey') && args.includes('--subjects') && subjects.every((name) => ownSubjects.includes(name))
}

function run(...args) {
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  // The driver ends its subjects and its database before it goes; a signal must reach it and not only us.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)))
}
