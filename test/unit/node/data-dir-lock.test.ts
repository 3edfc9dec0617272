// One process per data folder: the lock is a listening socket, and dies with its process.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataDir, makeDataDir, openControlSocket, socketPathFor } from '../../../src/node/data-dir.ts'

let folder: string
const servers: Server[] = []
const server = (): Server => {
  const made = createServer()
  servers.push(made)
  return made
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-lock-'))
})
afterEach(async () => {
  for (const each of servers.splice(0)) each.close()
  await rm(folder, { recursive: true, force: true })
})

test('the second is refused until the first has gone', async () => {
  const unlock = await lockDataDir(folder, server())
  await expect(lockDataDir(folder, server())).rejects.toMatchObject({ code: 'data_dir_locked' })
  await unlock()
  await lockDataDir(folder, server())
})

test('a socket left behind by kill -9 is taken over', async () => {
  const code = `require('node:net').createServer().listen(${JSON.stringify(join(folder, 'parley.sock'))}, () => console.log('up'))`
  const child = spawn(process.execPath, ['-e', code])
  await new Promise((resolve) => child.stdout.once('data', resolve))
  await expect(lockDataDir(folder, server())).rejects.toMatchObject({ code: 'data_dir_locked' })
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  await lockDataDir(folder, server())
})

test('of many that start at once on a stale socket, exactly one gets the folder', async () => {
  const code = `require('node:net').createServer().listen(${JSON.stringify(join(folder, 'parley.sock'))}, () => process.kill(process.pid, 'SIGKILL'))`
  await new Promise((resolve) => spawn(process.execPath, ['-e', code]).once('exit', resolve))
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(folder, server())))
  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
})

test('a folder too deep for a socket gets one elsewhere, and is locked all the same', async () => {
  const deep = join(folder, 'a'.repeat(60), 'b'.repeat(60))
  await lockDataDir(deep, server())
  await expect(lockDataDir(deep, server())).rejects.toMatchObject({ code: 'data_dir_locked' })
})

test('folder and socket are for their owner alone, whatever the umask', async () => {
  const made = join(folder, 'a', 'b')
  await lockDataDir(made, server())
  expect((await stat(made)).mode & 0o777).toBe(0o700)
  expect((await stat(join(made, 'parley.sock'))).mode & 0o777).toBe(0o600)
})

test('of gateways on one server that share a folder the first offers the socket, and none fails', async () => {
  const offers = await Promise.all([1, 2, 3].map(() => openControlSocket(folder, server())))
  const taken = offers.filter((offer) => offer !== undefined)
  expect(taken).toHaveLength(1)
  expect(await socketPathFor(folder, 'control')).not.toBe(await socketPathFor(folder, 'lock'))
  await taken[0]?.()
  expect(await openControlSocket(folder, server())).toBeDefined()
})

test('the socket of a gateway on a server leaves the embedded database free', async () => {
  await openControlSocket(folder, server())
  await expect(lockDataDir(folder, server())).resolves.toBeInstanceOf(Function)
})

test.each(['/proc/parley/data', '/dev/null/data'])('a folder that cannot be is refused in time: %s', async (path) => {
  await expect(makeDataDir(path)).rejects.toMatchObject({ code: 'config_invalid' })
  expect(await openControlSocket(path, server())).toBeUndefined()
})
