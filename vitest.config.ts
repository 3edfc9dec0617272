// Two workers that keep their modules between files: loading drizzle-orm once per file costs minutes (spec 2.6).
import { defineConfig } from 'vitest/config'
import { summaryReporter } from './test/summary-reporter.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**'],
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    allowOnly: false,
    // Names built from a table row are claims; cut off they say nothing.
    chaiConfig: { truncateThreshold: 200 },
    globalSetup: ['test/setup/build.ts', 'test/setup/postgres.ts'],
    reporters: ['default', summaryReporter(process.env['PARLEY_TEST_SUMMARY'])],
  },
})
