// Installs a folder that has a package.json of its own (test/interop, bench): peers and rivals, never the product's dependencies.
// Once per lock file: a stamp in its node_modules says what is there.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { root } from './bundle.js'

const patienceMs = 2_000
const longestMs = 300_000
// A machine without a network must learn it in seconds; packages that are in npm's cache need none.
const flags = [
  ...['--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--prefer-offline'],
  ...['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=2000'],
]

/** True when exactly what the lock file names was installed here, on this kind of machine. */
function isInstalled(folder) {
  try {
    return readFileSync(stampOf(folder), 'utf8') === fingerprint(folder)
  } catch {
    return false
  }
}

/** Answers undefined, or in one line why the packages are not there. `say` hears of it when it takes long. */
export async function installWorkspace(folder, say) {
  if (isInstalled(folder)) return undefined
  const waiting = setTimeout(() => say(`installing the packages of ${folder}, once; please wait …`), patienceMs)
  try {
    const problem = await npmInstall(folder)
    if (problem === undefined) writeFileSync(stampOf(folder), fingerprint(folder))
    return problem
  } catch (error) {
    return `packages of ${folder}: ${error instanceof Error ? error.message : String(error)}`
  } finally {
    clearTimeout(waiting)
  }
}

function npmInstall(folder) {
  const [command, ...first] = npmCommand()
  const child = spawn(command, [...first, 'install', ...flags], {
    cwd: join(root, folder),
    env: outsideEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: longestMs,
  })
  let complaint = ''
  child.stderr.on('data', (chunk) => {
    complaint = `${complaint}${chunk}`.slice(-8_000)
  })
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(`npm does not start: ${error.message}`))
    child.on('close', (code) =>
      resolve(code === 0 ? undefined : `npm install in ${folder} failed: ${reason(complaint)}`),
    )
  })
}

/** The npm that runs us, on the Node that runs us; else the one on the path. */
function npmCommand() {
  const script = process.env['npm_execpath'] ?? ''
  return /\.c?js$/.test(script) ? [process.execPath, script] : ['npm']
}

/** Without what npm tells its scripts about the outer package, which an inner npm would take for its own. */
function outsideEnvironment() {
  const isOuter = (name) =>
    /^npm_(package_|lifecycle_|config_local_prefix|config_prefix)/.test(name) || name === 'INIT_CWD'
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOuter(name)))
}

/** npm's error code, if it gave one: its other lines may quote addresses of the machine's registry. */
function reason(complaint) {
  return /npm error code (\w+)/.exec(complaint)?.[1] ?? 'it gave no reason'
}

function stampOf(folder) {
  return join(root, folder, 'node_modules', '.parley-installed')
}

function fingerprint(folder) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`)
  for (const file of ['package.json', 'package-lock.json']) hash.update(readFileSync(join(root, folder, file)))
  return hash.digest('hex')
}
