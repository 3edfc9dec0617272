// `npm run build`: bundles the program and the library into dist/. `--quiet` speaks only when there is something to build.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { writeBillOfMaterials } from './bill-of-materials.js'
import { bundle, emailThread, MissingBundler, root } from './bundle.js'

const isQuiet = process.argv.includes('--quiet')
// The command line program, what it runs in threads, and the entry points of the package: the library that a configuration
// imports, with the kit for adapters, the client of the API, and the Worker.
const outputs = [
  { entry: 'src/cli/main.ts', outfile: 'dist/parley.js' },
  emailThread,
  { entry: 'src/index.ts', outfile: 'dist/index.js', runtime: 'portable', beside: { testing: 'src/testing.ts' } },
  { entry: 'src/client.ts', outfile: 'dist/client.js', runtime: 'portable' },
  { entry: 'src/worker.ts', outfile: 'dist/worker.js', runtime: 'workerd' },
]
const started = Date.now()
const slow = setTimeout(() => console.log('Building Parley (the first start and every change need it) …'), 500)

try {
  for (const output of outputs) {
    const outcome = await bundle(output)
    if (!isQuiet) console.log(`${output.outfile} ${outcome} (${Date.now() - started} ms)`)
  }
  // What a release consists of; a start from a checkout is none.
  if (!isQuiet) {
    const count = await writeBillOfMaterials(outputs.map(({ outfile }) => `${outfile}.inputs.json`))
    console.log(`dist/sbom.cdx.json, dist/THIRD_PARTY_LICENSES.txt: ${count} packages (${Date.now() - started} ms)`)
  }
} catch (error) {
  // `npm start` where everything was built elsewhere and no development packages are installed.
  const isUsable =
    isQuiet && error instanceof MissingBundler && outputs.every(({ outfile }) => existsSync(join(root, outfile)))
  if (!isUsable) {
    console.error(`build failed: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
} finally {
  clearTimeout(slow)
}
