// `npm run build`: bundles the command line program into dist/parley.js. `--quiet` speaks only when it takes long.
import process from 'node:process'
import { bundle } from './bundle.js'

const isQuiet = process.argv.includes('--quiet')
const started = Date.now()
const slow = setTimeout(() => console.log('building dist/parley.js …'), isQuiet ? 1500 : 300)

try {
  const outcome = await bundle({ entry: 'src/cli/main.ts', outfile: 'dist/parley.js' })
  if (!isQuiet) console.log(`dist/parley.js ${outcome} (${Date.now() - started} ms)`)
} catch (error) {
  console.error(`build failed: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
} finally {
  clearTimeout(slow)
}
