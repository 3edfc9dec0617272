// Runs npm from inside a program that npm may have started itself. Plain syntax: this file must load on old versions.
import { spawn } from 'node:child_process'
import process from 'node:process'

// A machine without a network must learn it in seconds; packages that are in npm's cache need none.
const flags = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--prefer-offline',
  '--fetch-retries=1',
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=2000',
]

/**
 * Runs `npm install` in a folder with a package.json of its own. Answers undefined, or npm's error code: its other lines may
 * quote addresses of the machine's registry. Ends npm when `signal` is aborted.
 */
export function installPackages(folder, { more = [], timeoutMs = 300_000, signal } = {}) {
  const [command, ...first] = npmCommand()
  const child = spawn(command, [...first, 'install', ...flags, ...more], {
    cwd: folder,
    env: outsideEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: timeoutMs,
    signal,
  })
  let complaint = ''
  child.stderr.on('data', (chunk) => {
    complaint = `${complaint}${chunk}`.slice(-8_000)
  })
  return new Promise((resolve) => {
    // After an abort npm is still there for a moment; its close follows.
    child.on('error', (error) => error.name !== 'AbortError' && resolve(`npm does not start: ${error.message}`))
    child.on('close', (code, ended) => {
      if (code === 0) resolve(undefined)
      else resolve(ended === null ? readErrorCode(complaint) : `npm was ended by ${ended}`)
    })
  })
}

/** The npm that runs us, on the Node that runs us; else the one on the path. */
function npmCommand() {
  const script = process.env['npm_execpath'] || ''
  return /\.c?js$/.test(script) ? [process.execPath, script] : ['npm']
}

/** Without what npm tells its scripts about the outer package, which an inner npm would take for its own. */
function outsideEnvironment() {
  const isOuter = (name) =>
    /^npm_(package_|lifecycle_|config_local_prefix|config_prefix)/.test(name) || name === 'INIT_CWD'
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOuter(name)))
}

function readErrorCode(complaint) {
  const found = /npm (?:error|ERR!) code (\w+)/.exec(complaint)
  return found === null ? 'npm gave no reason' : found[1]
}
