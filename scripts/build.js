// `npm run build`: bundles the program and the library into dist/. `--quiet` speaks only when it takes long.
import process from 'node:process'
import { bundle } from './bundle.js'

const isQuiet = process.argv.includes('--quiet')
// The command line program, and the library a parley.config.ts imports as 'parley'.
const outputs = [
  ['src/cli/main.ts', 'dist/parley.js'],
  ['src/index.ts', 'dist/index.js'],
]
const started = Date.now()
const slow = setTimeout(() => console.log('building …'), isQuiet ? 1500 : 300)

try {
  for (const [entry, outfile] of outputs) {
    const outcome = await bundle({ entry, outfile })
    if (!isQuiet) console.log(`${outfile} ${outcome} (${Date.now() - started} ms)`)
  }
} catch (error) {
  console.error(`build failed: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
} finally {
  clearTimeout(slow)
}
