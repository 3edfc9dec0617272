// What a peer must do before its tests are declared, and what becomes of one that does not.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { provePeer } from './peer.ts'

const peer = { module: 'a peer' } as const
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-peers-'))
  vi.stubEnv('PARLEY_TEST_SUMMARY', join(folder, 'summary.json'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

test('a peer whose smoke call succeeds is there', async () => {
  expect(await provePeer('Dovecot', peer, (module) => expect(module).toBe('a peer'))).toEqual(peer)
})

test.each([
  ['throws', () => Promise.reject(new Error('no module\n  at line 3')), 'no module'],
  [
    'ends',
    () => Promise.reject(Object.assign(new Error('exit 1'), { stderr: 'Fatal: no doveconf\n' })),
    'Fatal: no doveconf',
  ],
  ['says nothing', () => new Promise(() => {}), 'no answer in 0.05 s'],
] as const)('a peer that %s is a problem with its name and one line of reason', async (_how, smoke, reason) => {
  const problem = `Dovecot does not work on this machine: ${reason}`
  expect(await provePeer('Dovecot', peer, smoke, 50)).toEqual({ problem })
})

test('the smoke call is made once per run, whatever came of it', async () => {
  let calls = 0
  const fails = () => {
    calls += 1
    throw new Error('not here')
  }
  const verdicts = [await provePeer('swaks', peer, fails), await provePeer('swaks', peer, fails)]
  expect(verdicts[1]).toEqual(verdicts[0])
  for (let file = 0; file < 2; file += 1) expect(await provePeer('curl', peer, () => (calls += 1))).toEqual(peer)
  expect(calls).toBe(2)
})
