// Bundles the commands as a library, beside the program: tests run many of them in one process.
import { bundle } from './bundle.js'

await bundle({ entry: 'src/cli/commands.ts', outfile: 'dist/commands.js' })
