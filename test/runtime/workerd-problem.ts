// Whether workerd starts on this machine; where it does not, its tests are reported as skipped, with the reason.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const binary = join(import.meta.dirname, '..', '..', 'node_modules', '.bin', 'workerd')

/** Undefined: it starts. */
export function workerdProblem(): string | undefined {
  try {
    execFileSync(binary, ['--version'], { stdio: 'pipe', timeout: 30_000 })
    return undefined
  } catch (error) {
    const text = error instanceof Error ? error.message : 'unknown'
    return `workerd does not start: ${text.split('\n')[0]}`
  }
}
