// Makes sure that a program runs on a Node new enough for it. Plain syntax: this file must load on old versions.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const needed = [22, 19]
const checkoutNode = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules', '.bin', 'node')

function isModern(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > needed[0] || (major === needed[0] && minor >= needed[1])
}

/** Runs `work` here when this Node will do, else the same command line on the checkout's own Node. */
export async function onModernNode(work) {
  if (isModern(process.versions.node)) {
    dieWithParent()
    await work()
    return
  }
  if (versionOf(checkoutNode) !== undefined) {
    process.exitCode = await runAgain(checkoutNode)
    return
  }
  console.error(
    `Node ${needed.join('.')} or newer is needed, this is ${process.versions.node}: install it from https://nodejs.org, or run npm install in the checkout (on Linux that brings Node 24).`,
  )
  process.exitCode = 1
}

function versionOf(path) {
  if (!existsSync(path)) return undefined
  const answer = spawnSync(path, ['--version'], { encoding: 'utf8' })
  const version = answer.status === 0 ? answer.stdout.trim() : ''
  return isModern(version) ? version : undefined
}

function runAgain(node) {
  return new Promise((resolve) => {
    const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, PARLEY_RELAUNCHED: '1' },
    })
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
    child.on('error', () => resolve(1))
    child.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)))
  })
}

// Killing the launcher outright must not leave the real program behind with the port and the data folder.
function dieWithParent() {
  if (process.env['PARLEY_RELAUNCHED'] !== '1' || process.channel === undefined) return
  process.once('disconnect', () => process.exit(1))
  process.channel?.unref()
}
