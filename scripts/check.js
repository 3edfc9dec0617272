// `npm run check`: every static check, each with its time; all of them run, also when one has failed.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { onModernNode } from '../bin/modern-node.js'
import { root } from './bundle.js'

const linted = ['src', 'adapters', 'test', 'bench'].filter((folder) => existsSync(join(root, folder)))

const steps = [
  { name: 'format and lint (biome)', command: 'biome', args: ['check', '--error-on-warnings', '.'] },
  {
    name: 'no lost promises (oxlint)',
    command: 'oxlint',
    // oxlint finds tsgolint in node_modules, and the types of a file through its nearest tsconfig.json.
    args: ['--type-aware', '--config', '.oxlintrc.json', ...linted],
  },
  { name: 'portable types (tsc)', command: 'tsc', args: ['-p', 'tsconfig.json'] },
  { name: 'Node types (tsc)', command: 'tsc', args: ['-p', 'tsconfig.node.json'] },
  { name: 'Workers types (tsc)', command: 'tsc', args: ['-p', 'tsconfig.worker.json'] },
  // Its output is shown also when it passes: the size is a figure to watch.
  { name: 'Worker size (esbuild)', command: process.execPath, args: ['scripts/worker-size.js'], isShown: true },
  { name: 'nothing unused (knip)', command: 'knip', args: ['--no-progress', '--no-config-hints'] },
]

/** Answers one `{ name, ok, ms }` per step. */
export async function runChecks() {
  const waiting = [...steps]
  const results = []
  const lane = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) results.push(await runStep(step))
  }
  await Promise.all([lane(), lane()])
  return results
}

function runStep({ name, command, args, isShown = false }) {
  const started = Date.now()
  const bin = join(root, 'node_modules', '.bin')
  return new Promise((resolve) => {
    const child = spawn(isAbsolute(command) ? command : join(bin, command), args, {
      cwd: root,
      env: { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` },
    })
    let output = ''
    const keep = (chunk) => {
      output += chunk.toString()
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    const finish = (ok) => {
      const ms = Date.now() - started
      console.log(`${ok ? 'ok    ' : 'FAILED'} ${name} (${(ms / 1000).toFixed(1)} s)`)
      if (!ok || isShown) console.log(output.trimEnd())
      resolve({ name, ok, ms })
    }
    child.on('error', (error) => {
      output += error.message
      finish(false)
    })
    child.on('close', (code) => finish(code === 0))
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await onModernNode(async () => {
    const results = await runChecks()
    const failed = results.filter((result) => !result.ok)
    console.log(
      failed.length === 0 ? `${results.length} checks passed` : `${failed.length} of ${results.length} failed`,
    )
    process.exitCode = failed.length === 0 ? 0 : 1
  })
}
