// A2A push, as far as it is about storing: where a caller wants to be notified.
import { expect } from 'vitest'
import { pushTargetProblem } from '../../../adapters/a2a/push.ts'
import { aMessage, type Binding, type Body } from '../../doubles/a2a-peer.ts'
import { type A2aCase, refused, type Scene, sent } from './a2a-setup.ts'

const url = 'https://hooks.example/a2a'
const create = 'CreateTaskPushNotificationConfig'
const get = 'GetTaskPushNotificationConfig'
const list = 'ListTaskPushNotificationConfigs'
const remove = 'DeleteTaskPushNotificationConfig'

const aTask = async (scene: Scene, binding: Binding): Promise<string> =>
  (await sent(scene, binding, aMessage('hello'))).id

export const pushCases: readonly A2aCase[] = [
  {
    id: 'PU-01',
    claim: 'a configuration is made, read, listed, deleted, and deleted again',
    async run(scene, binding) {
      const taskId = await aTask(scene, binding)
      const made = (await scene.call(binding, create, { taskId, id: 'c1', url })).result
      expect(made).toEqual({ taskId, id: 'c1', url })
      expect((await scene.call(binding, get, { taskId, id: 'c1' })).result).toEqual(made)
      expect((await scene.call(binding, list, { taskId })).result).toEqual({ configs: [made] })
      for (const _time of [1, 2]) expect((await scene.call(binding, remove, { taskId, id: 'c1' })).result).toEqual({})
      expect((await scene.call(binding, list, { taskId })).result).toEqual({ configs: [] })
    },
  },
  {
    id: 'PU-02',
    claim: 'a configuration that is not there is not found',
    async run(scene, binding) {
      const taskId = await aTask(scene, binding)
      expect((await refused(scene, binding, get, { taskId, id: 'none' })).code).toBe(-32001)
    },
  },
  {
    id: 'PU-03',
    claim: 'where nobody is told, all four are refused',
    async run(scene, binding) {
      for (const [method, params] of [
        [create, { taskId: 't', url }],
        [get, { taskId: 't', id: 'c' }],
        [list, { taskId: 't' }],
        [remove, { taskId: 't', id: 'c' }],
      ] as const)
        expect((await refused(scene, binding, method, params, { base: '/bare' })).code, method).toBe(-32003)
    },
  },
  {
    id: 'PU-04',
    claim: 'one without a name gets one; one of the same name takes its place',
    async run(scene, binding) {
      const taskId = await aTask(scene, binding)
      expect((await scene.call(binding, create, { taskId, url })).result.id).toMatch(/./)
      await scene.call(binding, create, { taskId, id: 'c1', url })
      await scene.call(binding, create, { taskId, id: 'c1', url: `${url}/new` })
      const { configs } = (await scene.call(binding, list, { taskId })).result
      expect(configs.map((each: Body) => each.url).toSorted()).toEqual([url, `${url}/new`])
    },
  },
  {
    id: 'PU-05',
    claim: 'an address is whole, https and without a credential; nothing in it breaks a header',
    async run(scene, binding) {
      const taskId = await aTask(scene, binding)
      const cases: readonly (readonly [Body, string])[] = [
        [{}, 'url'],
        [{ url: '/relative' }, 'url'],
        [{ url: 'file:///etc/passwd' }, 'url'],
        [{ url: 'ftp://hooks.example' }, 'url'],
        [{ url: 'http://hooks.example' }, 'url'],
        [{ url: 'https://user:secret@hooks.example' }, 'url'],
        [{ url: 'https://hooks.example/\r\nX: y' }, 'url'],
        [{ url, token: 'a\r\nX: y' }, 'token'],
        [{ url, authentication: { scheme: 'Bearer x' } }, 'authentication.scheme'],
        [{ url, authentication: { scheme: 'Bearer', credentials: 'a\nb' } }, 'authentication.credentials'],
        [{ url, authentication: {} }, 'authentication.scheme'],
      ]
      for (const [changes, field] of cases)
        expect((await refused(scene, binding, create, { taskId, ...changes })).fields, JSON.stringify(changes)).toEqual(
          [field],
        )
    },
  },
  {
    id: 'PU-06',
    claim: 'addresses near by are refused in every spelling, unless they are written down',
    async run(scene, binding) {
      const near = [
        '127.0.0.1',
        '10.0.0.1',
        '192.168.1.1',
        '169.254.169.254',
        '100.64.0.1',
        '[::1]',
        '[fe80::1]',
        '[fd00::1]',
        '[::ffff:127.0.0.1]',
        '2130706433',
        '0177.0.0.1',
        '0x7f.1',
        '127.1',
        'localhost',
        'db.internal',
        '0.0.0.0',
      ]
      for (const host of near) expect(pushTargetProblem(`https://${host}/x`, []), host).toMatch(/private|scheme/)
      expect(pushTargetProblem('https://93.184.216.34/x', [])).toBeUndefined()
      expect(pushTargetProblem('http://hooks.internal:9/x', ['http://hooks.internal:9'])).toBeUndefined()
      expect(pushTargetProblem('http://hooks.internal:10/x', ['http://hooks.internal:9'])).toBeDefined()
      const taskId = await aTask(scene, binding)
      const local = { taskId, url: 'http://127.0.0.1:4711/hook' }
      expect((await refused(scene, binding, create, local)).fields).toEqual(['url'])
      const task = await sent(scene, binding, aMessage('hello'), { base: '/near' })
      const allowed = await scene.call(binding, create, { ...local, taskId: task.id }, { base: '/near' })
      expect(allowed.result).toMatchObject({ url: local.url })
    },
  },
  {
    id: 'PU-15',
    claim: 'a task has ten configurations and no more',
    async run(scene, binding) {
      const taskId = await aTask(scene, binding)
      for (let at = 0; at < 10; at += 1) await scene.call(binding, create, { taskId, id: `c${at}`, url })
      expect((await refused(scene, binding, create, { taskId, id: 'c10', url })).fields).toEqual(['id'])
      expect((await scene.call(binding, create, { taskId, id: 'c9', url: `${url}/b` })).error).toBeUndefined()
    },
  },
  {
    id: 'PU-16',
    claim: 'who reads a configuration back learns no credential',
    async run(scene, binding) {
      const taskId = await aTask(scene, binding)
      const authentication = { scheme: 'Bearer', credentials: 'very-secret' }
      const made = await scene.call(binding, create, { taskId, id: 'c1', url, token: 'mine', authentication })
      const answers = [
        made,
        await scene.call(binding, get, { taskId, id: 'c1' }),
        await scene.call(binding, list, { taskId }),
      ]
      for (const { body } of answers) {
        expect(JSON.stringify(body)).not.toMatch(/very-secret|mine/)
        expect(JSON.stringify(body)).toContain('"scheme":"Bearer"')
      }
    },
  },
]
