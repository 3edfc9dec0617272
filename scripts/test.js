// `npm test`: the static checks, then the tests a contributor needs; the last line is `N passed, N failed`.
// Arguments go to vitest (`npm test -- test/unit/contract`), leave the static checks out and prepare only what these files need.
// `npm run test:all` runs every suite at full size, crash tests only with `-- --full`; with `-- --ci` what `npm test` leaves out,
// at small counts.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import process from 'node:process'
import { onModernNode } from '../bin/modern-node.js'
import { root } from './bundle.js'
import { runChecks } from './check.js'
import { installWorkspace } from './install-workspace.js'

await onModernNode(async () => {
  const { run, scale, crash, args } = readArguments(process.argv.slice(2))
  const { suites, selectedSuites } = await import('../test/setup/suites.ts')
  const chosen = args.length === 0 ? selectedSuites(run) : suitesNamedBy(args, suites)
  const needsPeers = chosen.some((name) => suites[name].needs.includes('peers'))
  const peers = needsPeers ? installWorkspace('test/interop', console.log) : undefined
  // Large, and wanted by one file: a run that names other files does without it.
  const copilotKit =
    needsPeers && isMeant('test/interop/copilotkit', args)
      ? installWorkspace('test/interop/copilotkit', console.log)
      : undefined
  const checks = args.length === 0 && run !== 'rest' ? await runChecks() : []
  const problem = await peers
  const copilotKitProblem = await copilotKit
  const tests = await runVitest(args, {
    PARLEY_TEST_RUN: run,
    PARLEY_TEST_SCALE: scale,
    PARLEY_TEST_CRASH: crash,
    PARLEY_TEST_SUITES: chosen.join(','),
    ...(problem === undefined ? {} : { PARLEY_INTEROP_PROBLEM: problem }),
    ...(copilotKitProblem === undefined ? {} : { PARLEY_COPILOTKIT_PROBLEM: copilotKitProblem }),
  })
  const failed = [...checks.filter((check) => !check.ok).map((check) => check.name), ...tests.failed]
  const passed = checks.filter((check) => check.ok).length + tests.passed
  list('skipped', tests.skipped)
  list('failed', failed)
  const tail = tests.skipped.length > 0 ? `, ${tests.skipped.length} skipped` : ''
  process.exitCode = failed.length === 0 ? 0 : 1
  console.log(`${passed} passed, ${failed.length} failed${tail}`)
})

/** A filter may name any file, also of a suite that `npm test` leaves out. */
function readArguments(words) {
  const args = words.filter((word) => !['--all', '--ci', '--full'].includes(word))
  const isAll = words.includes('--all')
  const isCi = words.includes('--ci')
  const run = args.length > 0 || (isAll && !isCi) ? 'all' : isAll ? 'rest' : 'short'
  return { run, scale: isAll && !isCi ? 'full' : 'small', crash: words.includes('--full') ? 'full' : 'ci', args }
}

function isMeant(folder, args) {
  const filters = args.filter((arg) => !arg.startsWith('-')).map(asPath)
  return filters.length === 0 || filters.some((filter) => filter.includes(folder) || folder.includes(filter))
}

/** Suites with a file that vitest would take for these arguments; all of them when none is recognized. */
function suitesNamedBy(args, suites) {
  const filters = args.filter((arg) => !arg.startsWith('-')).map(asPath)
  const names = Object.keys(suites)
  const named = names.filter((name) =>
    suites[name].folders.flatMap(testFiles).some((file) => filters.some((filter) => file.includes(filter))),
  )
  return named.length > 0 ? named : names
}

function testFiles(folder) {
  const names = readdirSync(join(root, folder), { recursive: true })
  return names
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .map((name) => `${folder}/${name}`)
}

/** As it stands in the list of files: `./test/a.test.ts:12` is test/a.test.ts. */
function asPath(filter) {
  const path = filter.replace(/:\d+$/, '')
  return /^[./]/.test(path) ? relative(root, resolve(path)) : path
}

/** Answers `{ passed, failed: names, skipped: names }`; a run that tells nothing is itself a failure. */
async function runVitest(args, env) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-summary-'))
  const file = join(folder, 'summary.json')
  try {
    const code = await vitest(args, { ...env, PARLEY_TEST_SUMMARY: file })
    return readSummary(file, code)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function vitest(args, env) {
  const entry = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(process.execPath, [entry, 'run', ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
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
  if (summary.passed + failed.length + summary.skipped.length === 0) failed.push('no test ran')
  if (code !== 0 && failed.length === 0) failed.push(`vitest ended with exit code ${code}`)
  return { passed: summary.passed, failed, skipped: summary.skipped }
}

function list(title, names) {
  if (names.length > 0) console.log(`${title}:\n${names.map((name) => `  - ${name}`).join('\n')}`)
}
