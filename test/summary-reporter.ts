// Writes what a run came to as JSON, so that scripts/test.js can print one honest last line.
import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

/** Counts and names of a finished run. A file that could not be loaded counts as one failure. */
type RunSummary = {
  readonly passed: number
  readonly failed: readonly string[]
  readonly skipped: readonly string[]
  readonly unhandledErrors: number
}

export function summaryReporter(file: string | undefined): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors) {
      if (file !== undefined) writeFileSync(file, JSON.stringify(summarize(modules, unhandledErrors.length)))
    },
  }
}

function summarize(modules: readonly TestModule[], unhandledErrors: number): RunSummary {
  let passed = 0
  const failed: string[] = []
  const skipped: string[] = []
  for (const module of modules) {
    const failedBefore = failed.length
    for (const test of module.children.allTests()) {
      const state = test.result().state
      const name = `${module.relativeModuleId} > ${test.fullName}`
      if (state === 'passed') passed += 1
      else if (state === 'failed') failed.push(name)
      else skipped.push(name)
    }
    const hasOwnError = module.state() === 'failed' && failed.length === failedBefore
    if (hasOwnError) failed.push(`${module.relativeModuleId} (did not load, or a hook failed)`)
  }
  return { passed, failed, skipped, unhandledErrors }
}
