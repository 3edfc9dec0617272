// One project per suite of test/setup/suites.ts, each with the setup it needs: a unit test waits for no database and no build.
// Workers keep their modules between files: loading drizzle-orm once per file costs minutes.
import { availableParallelism } from 'node:os'
import { defineConfig, type TestProjectInlineConfiguration, type ViteUserConfig } from 'vitest/config'
import type { Vite } from 'vitest/node'
import { workerdProblem } from './test/runtime/workerd-problem.ts'
import { BySuite } from './test/setup/by-suite.ts'
import { filesToRun, type Need, type SuiteName, selectedSuites, suites } from './test/setup/suites.ts'
import { summaryReporter } from './test/summary-reporter.ts'

/** scripts/test.js installs the peers, before vitest looks for them. */
const setups: Readonly<Record<Need, readonly string[]>> = {
  build: ['test/setup/build.ts'],
  postgres: ['test/setup/postgres.ts'],
  workerd: ['test/setup/runtime.ts'],
  peers: [],
}

const shared = {
  // A machine with other work to do takes several times as long.
  testTimeout: 60_000,
  hookTimeout: 90_000,
  allowOnly: false,
  pool: 'forks',
  isolate: false,
  // Gateways that tests start share this machine: the port for trying mail out is opened by the test that is about it.
  env: { EMAIL_CHANNEL: 'off' },
  // Names built from a table row are claims; cut off they say nothing.
  chaiConfig: { truncateThreshold: 200 },
  // Compiled files are kept from run to run: half of the time that one unit file takes.
  experimental: { fsModuleCache: true },
} as const

const special: Partial<Record<SuiteName, TestProjectInlineConfiguration['test']>> = {
  // A process of its own for each file: native peers keep state, and some of them cannot be loaded twice.
  interop: { isolate: true, testTimeout: 120_000 },
}

/** A file that lists others changes with them; vitest knows these calls only without type arguments. */
const listingsAreNotCached: Vite.Plugin = {
  name: 'listings-are-not-cached',
  configureVitest({ experimental_defineCacheKeyGenerator: decide }) {
    decide(({ sourceCode }) => (sourceCode.includes('import.meta.glob') ? false : undefined))
  },
}

async function projectOf(name: SuiteName): Promise<TestProjectInlineConfiguration> {
  const files = { name, ...filesToRun(name), globalSetup: suites[name].needs.flatMap((need) => setups[need]) }
  if (name !== 'workerd') return { plugins: [listingsAreNotCached], test: { ...shared, ...special[name], ...files } }
  // Its plugin takes seconds to load.
  const { workerdPlugins } = await import('./test/runtime/workerd-plugins.ts')
  return { plugins: workerdPlugins(), test: { testTimeout: 60_000, hookTimeout: 90_000, allowOnly: false, ...files } }
}

/** Where workerd does not start, test/process/runtime/workerd.test.ts says so by name. */
function runnableSuites(): readonly SuiteName[] {
  const selected = selectedSuites()
  return selected.includes('workerd') && workerdProblem() !== undefined
    ? selected.filter((name) => name !== 'workerd')
    : selected
}

export default defineConfig(
  async (): Promise<ViteUserConfig> => ({
    test: {
      projects: await Promise.all(runnableSuites().map(projectOf)),
      // More than cores: a test mostly waits, for a database, a process or a clock.
      maxWorkers: Math.min(8, availableParallelism() + 2),
      sequence: { sequencer: BySuite },
      teardownTimeout: 10_000,
      reporters: ['default', summaryReporter(process.env['PARLEY_TEST_SUMMARY'])],
      // postgres.js leaves this behind in workerd when a connection ends; nobody waits for it.
      onUnhandledError: (error) => (error.message === 'Stream was cancelled.' ? false : undefined),
    },
  }),
)
