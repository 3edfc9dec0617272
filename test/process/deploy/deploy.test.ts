// Nobody builds the image in this suite: what can be checked without an engine is that nothing in it points nowhere.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { checkoutRoot } from '../../architecture/source-tree.ts'

const read = (path: string): string => readFileSync(join(checkoutRoot, path), 'utf8')
const scratch = mkdtempSync(join(tmpdir(), 'parley-deploy-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

type Instruction = { readonly name: string; readonly rest: string; readonly stage: number }

/** One entry per instruction, continued lines joined, comments gone. */
function instructions(text: string): readonly Instruction[] {
  let stage = -1
  const lines = text.replace(/^\s*#.*\n/gm, '').replace(/\\\n\s*/g, '')
  return lines.split('\n').flatMap((line) => {
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    if (name === '') return []
    if (name === 'FROM') stage += 1
    return [{ name, rest: rest.trim(), stage }]
  })
}

describe('the container file', () => {
  const all = instructions(read('deploy/Containerfile'))
  const last = all.filter((each) => each.stage === Math.max(...all.map(({ stage }) => stage)))
  const named = (name: string, from = all): readonly string[] =>
    from.filter((each) => each.name === name).map((each) => each.rest)
  const copies = named('COPY').map((rest) => rest.split(/\s+/))
  const fromHere = copies.filter(([flag]) => !flag?.startsWith('--')).flatMap((words) => words.slice(0, -1))
  const ignored = read('.dockerignore').split('\n')

  test('copies only what exists and what .dockerignore lets through', () => {
    expect(fromHere.filter((path) => !existsSync(join(checkoutRoot, path)))).toEqual([])
    expect([...new Set(fromHere)].filter((path) => !ignored.includes(`!${path}`))).toEqual([])
    expect(ignored).toContain('*')
  })

  test('takes from other stages only stages that there are', () => {
    const stages = named('FROM').flatMap((rest) => / AS (\S+)$/.exec(rest)?.[1] ?? [])
    const asked = copies.flatMap(([flag]) => /^--from=(.+)$/.exec(flag ?? '')?.[1] ?? [])
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.filter((name) => !stages.includes(name))).toEqual([])
  })

  test('copies everything the program is made of', () => {
    // `dist` is built in the image.
    const needed = manifest.files.filter((path) => !path.startsWith('dist/'))
    const copied = copies.filter(([flag]) => !flag?.startsWith('--')).flat()
    expect(needed.filter((path) => !copied.includes(path))).toEqual([])
  })

  test('runs scripts that exist, and never the lock-file-only install', () => {
    const runs = named('RUN')
    expect(runs.join('\n')).not.toMatch(/\bnpm ci\b/)
    const scripts = runs.flatMap((rest) => [...rest.matchAll(/\bnode (\S+\.js)/g)].map((match) => match[1] ?? ''))
    expect(scripts).toEqual(['scripts/build.js', 'scripts/pack-database.js'])
    expect(scripts.filter((path) => !existsSync(join(checkoutRoot, path)))).toEqual([])
  })

  test('runs as an ordinary user, with a volume, a stop signal and a health check on readiness', () => {
    expect(named('USER', last)).toEqual(['node'])
    expect(named('VOLUME', last)).toEqual(['/data'])
    expect(named('STOPSIGNAL', last)).toEqual(['SIGTERM'])
    expect(named('HEALTHCHECK', last).join()).toContain('/readyz')
    expect(named('ENV', last).join()).toMatch(/PARLEY_HOST=0\.0\.0\.0.*PARLEY_DATA_DIR=\/data/)
    expect(named('ENTRYPOINT', last)).toEqual(['["node", "/app/bin/parley.js"]'])
    expect(named('CMD', last)).toEqual(['["start"]'])
  })

  test('has a health check that fails when nobody answers', () => {
    const command: readonly string[] = JSON.parse(
      /CMD (\[.*\])$/.exec(named('HEALTHCHECK', last)[0] ?? '')?.[1] ?? '[]',
    )
    expect(command[0]).toBe('node')
    const outcome = spawnSync(process.execPath, command.slice(1), { env: { PARLEY_PORT: '1' } })
    expect(outcome.status).toBe(1)
  })

  test('bundles from the folders it copies, and needs no other', () => {
    const build = join(scratch, 'build')
    mkdirSync(build)
    const sources = all
      .filter((each) => each.name === 'COPY' && each.stage === 0)
      .flatMap(({ rest }) => rest.split(/\s+/))
    for (const path of sources.filter((each) => each !== './' && each !== '')) {
      cpSync(join(checkoutRoot, path), join(build, path), { recursive: true })
    }
    symlinkSync(join(checkoutRoot, 'node_modules'), join(build, 'node_modules'))
    const { stderr } = spawnSync(process.execPath, ['scripts/build.js'], { cwd: build, encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(existsSync(join(build, 'dist', 'parley.js'))).toBe(true)
  }, 120_000)
})

describe('the systemd unit', () => {
  const text = read('deploy/parley.service')
  const value = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1] ?? ''

  test('starts the program where it says it lies, and gives it longer to stop than it takes', () => {
    const script = /\/opt\/parley\/(\S+)/.exec(value('ExecStart'))?.[1] ?? 'nothing'
    expect(existsSync(join(checkoutRoot, script))).toBe(true)
    expect(value('WorkingDirectory')).toBe('/opt/parley')
    expect(existsSync(join(checkoutRoot, value('Documentation').replace('file:///opt/parley/', '')))).toBe(true)
    expect(Number(value('TimeoutStopSec'))).toBeGreaterThan(10 + 25)
    expect(value('Restart')).toBe('always')
    // With the default, PostgreSQL would get its own SIGTERM and refuse connections while turns still end.
    expect(value('KillMode')).toBe('mixed')
    expect(`/var/lib/${value('StateDirectory')}`).toBe(/PARLEY_DATA_DIR=(\S+)/.exec(text)?.[1])
  })

  const isThere = spawnSync('systemd-analyze', ['--version']).status === 0
  test.skipIf(!isThere)(
    `satisfies systemd-analyze verify${isThere ? '' : ' (systemd-analyze is not installed)'}`,
    () => {
      const copy = join(scratch, 'parley.service')
      // This machine's own Node stands for /usr/bin/node, and its own root for the user that the unit asks for.
      writeFileSync(copy, text.replace('/usr/bin/node', process.execPath).replace(/^(User|Group)=.*\n/gm, ''))
      const outcome = spawnSync('systemd-analyze', ['verify', '--man=no', copy], { encoding: 'utf8' })
      expect(outcome.stderr.split('\n').filter((line) => line.includes('parley.service'))).toEqual([])
    },
  )
})

describe('the compose example', () => {
  test('builds from a container file that exists and keeps the promises of durability', () => {
    const text = read('deploy/compose.yaml')
    expect(existsSync(join(checkoutRoot, /dockerfile: (\S+)/.exec(text)?.[1] ?? 'nothing'))).toBe(true)
    expect(text).not.toMatch(/fsync=off|synchronous_commit=off/)
    expect(text.match(/stop_grace_period: 60s/g)).toHaveLength(2)
  })
})
