// Makes sure that a program runs on a Node new enough for it. Plain syntax: this file must load on old versions.
import { spawn } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import process from 'node:process'
import { fetchNode } from './fetch-node.js'

const needed = [22, 19]

function isModern(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > needed[0] || (major === needed[0] && minor >= needed[1])
}

/** Runs `work` here when this Node will do, else the same command line on a newer Node, which is fetched at the first use. */
export async function onModernNode(work) {
  if (isModern(process.versions.node)) {
    dieWithParent()
    await work()
    return
  }
  try {
    process.exitCode = await runAgain(await fetchNode())
  } catch (error) {
    console.error(
      `Parley needs Node ${needed.join('.')} or newer, this is ${process.versions.node}, and a newer one could not be fetched: ${error.message}. Install it from https://nodejs.org, or try again with a network.`,
    )
    process.exitCode = 1
  }
}

function runAgain(node) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      // Tools that ask for `node` by name get the same one.
      env: {
        ...process.env,
        PATH: `${dirname(node)}${delimiter}${process.env['PATH'] || ''}`,
        PARLEY_RELAUNCHED: '1',
      },
    })
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)))
  })
}

// Killing the launcher outright must not leave the real program behind with the port and the data folder.
function dieWithParent() {
  if (process.env['PARLEY_RELAUNCHED'] !== '1' || process.channel === undefined) return
  process.once('disconnect', () => process.exit(1))
  process.channel?.unref()
}
