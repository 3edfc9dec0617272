// `npm test`: the static checks, then the tests; the last line is `N passed, N failed`.
// Arguments go to vitest (`npm test -- test/contract`) and leave the static checks out.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { onModernNode } from '../bin/modern-node.js'
import { root } from './bundle.js'
import { runChecks } from './check.js'
import { installWorkspace } from './install-workspace.js'

const interop = 'test/interop'

await onModernNode(async () => {
  const args = process.argv.slice(2)
  const peers = wantsPeers(args) ? installWorkspace(interop, console.log) : undefined
  const checks = args.length === 0 ? await runChecks() : []
  const tests = await runVitest(args, await peers)
  const failed = [...checks.filter((check) => !check.ok).map((check) => check.name), ...tests.failed]
  const passed = checks.length - checks.filter((check) => !check.ok).length + tests.passed
  list('skipped', tests.skipped)
  list('failed', failed)
  const tail = tests.skipped.length > 0 ? `, ${tests.skipped.length} skipped` : ''
  process.exitCode = failed.length === 0 ? 0 : 1
  console.log(`${passed} passed, ${failed.length} failed${tail}`)
})

/** Only a run that takes a test of test/interop waits for the packages there. */
function wantsPeers(args) {
  const filters = args.filter((arg) => !arg.startsWith('-'))
  if (filters.length === 0) return true
  const files = readdirSync(join(root, interop), { recursive: true }).filter((name) => !name.includes('node_modules'))
  return files.some((name) => filters.some((filter) => `${interop}/${name}`.includes(filter)))
}

/** Answers `{ passed, failed: names, skipped: names }`; a run that tells nothing is itself a failure. */
async function runVitest(args, interopProblem) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-summary-'))
  const file = join(folder, 'summary.json')
  try {
    const code = await vitest(args, file, interopProblem)
    return readSummary(file, code)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function vitest(args, summaryFile, interopProblem) {
  const entry = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(process.execPath, [entry, 'run', ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      PARLEY_TEST_SUMMARY: summaryFile,
      ...(interopProblem === undefined ? {} : { PARLEY_INTEROP_PROBLEM: interopProblem }),
    },
  })
  return new Promise((resolve) => {
    child.on('error', () => resolve(1))
    child.on('exit', (code) => resolve(code ?? 1))
  })
}

function readSummary(file, code) {
  let summary
  try {
    summary = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { passed: 0, failed: [`vitest ended without a result (exit code ${code})`], skipped: [] }
  }
  const failed = [...summary.failed]
  if (summary.unhandledErrors > 0) failed.push(`${summary.unhandledErrors} errors outside of any test`)
  if (summary.passed + failed.length === 0) failed.push('no test ran')
  if (code !== 0 && failed.length === 0) failed.push(`vitest ended with exit code ${code}`)
  return { passed: summary.passed, failed, skipped: summary.skipped }
}

function list(title, names) {
  if (names.length > 0) console.log(`${title}:\n${names.map((name) => `  - ${name}`).join('\n')}`)
}
