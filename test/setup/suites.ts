// Which suites of tests there are, what each needs before it can run, and which command runs it.
// No import: scripts/test.js reads this file too, without a compiler.

export type SuiteName = 'chaos' | 'bench' | 'interop' | 'workerd' | 'process' | 'database' | 'unit'

/** Prepared once per run, and only when a file that needs it is about to run. */
export type Need = 'build' | 'postgres' | 'workerd' | 'peers'

export type Suite = {
  /** Every `*.test.ts` in and below these. */
  readonly folders: readonly string[]
  readonly needs: readonly Need[]
  /** What of it `npm test` runs: all but files named `*.long.test.ts`, none, or these alone. `npm run test:all` runs the rest too. */
  readonly inShort: 'all' | 'none' | readonly string[]
}

/** In the order in which they run: first what waits for other processes most, at the end what leaves no worker idle. */
export const suites: Readonly<Record<SuiteName, Suite>> = {
  chaos: { folders: ['test/chaos'], needs: ['postgres'], inShort: ['test/chaos/short.test.ts'] },
  bench: { folders: ['test/bench'], needs: [], inShort: 'none' },
  interop: { folders: ['test/interop'], needs: ['postgres', 'build', 'peers'], inShort: 'none' },
  process: { folders: ['test/process'], needs: ['postgres', 'build'], inShort: 'all' },
  workerd: {
    folders: ['test/runtime/workerd'],
    needs: ['postgres', 'workerd'],
    inShort: ['test/runtime/workerd/journey.test.ts'],
  },
  database: {
    folders: ['test/db', 'test/journeys', 'test/conformance', 'test/security'],
    needs: ['postgres'],
    inShort: 'all',
  },
  unit: { folders: ['test/unit', 'test/architecture'], needs: [], inShort: 'all' },
}

// The keys of a record of these names.
export const suiteNames = Object.keys(suites) as readonly SuiteName[]

/** `short` is `npm test`, `rest` what that leaves out, `all` both. */
export type Run = 'short' | 'rest' | 'all'

/** The command that runs, as scripts/test.js tells it; vitest alone runs all. */
function currentRun(): Run {
  const run = process.env['PARLEY_TEST_RUN'] ?? 'all'
  if (run === 'short' || run === 'rest' || run === 'all') return run
  throw new Error(`PARLEY_TEST_RUN is short, rest or all, not ${run}`)
}

/** Suites that may have files to run under this command; fewer where scripts/test.js knows that a filter names none of theirs. */
export function selectedSuites(run: Run = currentRun()): readonly SuiteName[] {
  const chosen = process.env['PARLEY_TEST_SUITES']?.split(',')
  return suiteNames.filter(
    (name) => (chosen === undefined || chosen.includes(name)) && (run !== 'short' || suites[name].inShort !== 'none'),
  )
}

export type FilesToRun = { readonly include: string[]; readonly exclude: string[] }

const long = '**/*.long.test.ts'

/** The globs of a suite under this command. */
export function filesToRun(name: SuiteName, run: Run = currentRun()): FilesToRun {
  const { folders, inShort } = suites[name]
  const every = folders.map((folder) => `${folder}/**/*.test.ts`)
  const exclude = ['**/node_modules/**']
  if (run === 'all' || inShort === 'none') return { include: every, exclude }
  if (inShort === 'all') {
    if (run === 'short') return { include: every, exclude: [...exclude, long] }
    return { include: folders.map((folder) => `${folder}/${long}`), exclude }
  }
  return run === 'short' ? { include: [...inShort], exclude } : { include: every, exclude: [...exclude, ...inShort] }
}
