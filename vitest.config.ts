// Three projects in one run: everything on Node, test/runtime/workerd inside workerd, and test/interop beside peers that nobody
// here wrote. They share one PostgreSQL.
// On Node two workers keep their modules between files: loading drizzle-orm once per file costs minutes (spec 2.6).
import { cloudflareTest } from '@cloudflare/vitest-pool-workers'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { bundledMailauth } from './test/runtime/bundled-mailauth.ts'
import { telegramVariables, workerQueues } from './test/runtime/worker-settings.ts'
import { workerdProblem } from './test/runtime/workerd-problem.ts'
import { SlowestFirst } from './test/setup/slowest-first.ts'
import { summaryReporter } from './test/summary-reporter.ts'

const limits = { testTimeout: 20_000, hookTimeout: 30_000, allowOnly: false } as const

// Gateways that tests start share this machine: the port for trying mail out is opened by the test that is about it.
const env = { EMAIL_CHANNEL: 'off' }

const onNode = {
  test: {
    ...limits,
    env,
    name: 'node',
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**', 'test/runtime/workerd/**'],
    pool: 'forks',
    isolate: false,
    // Names built from a table row are claims; cut off they say nothing.
    chaiConfig: { truncateThreshold: 200 },
  },
} satisfies TestProjectInlineConfiguration

// A process of its own for each file: native peers keep state, and some of them cannot be loaded twice.
const besidePeers = {
  test: {
    ...limits,
    env,
    testTimeout: 120_000,
    name: 'interop',
    include: ['test/interop/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    pool: 'forks',
    chaiConfig: { truncateThreshold: 200 },
  },
} satisfies TestProjectInlineConfiguration

const inWorkerd = {
  plugins: [
    bundledMailauth(),
    cloudflareTest(({ inject }) => {
      const { databaseUrl, secondDatabaseUrl, mailDatabaseUrl, emptyDatabaseUrl, apiRoot } = inject('runtime')
      return {
        main: './test/runtime/workerd/worker-under-test.ts',
        wrangler: { configPath: './wrangler.toml' },
        miniflare: {
          hyperdrives: {
            ...{ HYPERDRIVE: databaseUrl, SECOND: secondDatabaseUrl },
            ...{ MAIL: mailDatabaseUrl, EMPTY: emptyDatabaseUrl },
          },
          email: { send_email: [{ name: 'SEND_EMAIL' }] },
          queueConsumers: workerQueues,
          bindings: telegramVariables(apiRoot),
        },
      }
    }),
  ],
  test: { ...limits, testTimeout: 60_000, name: 'workerd', include: ['test/runtime/workerd/**/*.test.ts'] },
}

export default defineConfig({
  test: {
    projects: workerdProblem() === undefined ? [onNode, besidePeers, inWorkerd] : [onNode, besidePeers],
    maxWorkers: 2,
    sequence: { sequencer: SlowestFirst },
    teardownTimeout: 10_000,
    globalSetup: ['test/setup/build.ts', 'test/setup/postgres.ts', 'test/setup/runtime.ts'],
    reporters: ['default', summaryReporter(process.env['PARLEY_TEST_SUMMARY'])],
    // postgres.js leaves this behind in workerd when a connection ends; nobody waits for it.
    onUnhandledError: (error) => (error.message === 'Stream was cancelled.' ? false : undefined),
  },
})
