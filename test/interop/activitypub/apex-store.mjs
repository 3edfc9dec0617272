// A store for activitypub-express in memory. It matches ids without their fragment, hides `_meta` unless it is asked for, and puts
// the actors themselves into streams, as its own store does.
import { randomUUID } from 'node:crypto'

function shown(row, hasMeta) {
  if (row === undefined) return null
  const { _meta, ...rest } = structuredClone(row)
  return hasMeta ? { ...rest, _meta } : rest
}

export function memoryStore(contexts) {
  const objects = new Map()
  const activities = new Map()
  const queue = []
  const inCollection = (name) => [...activities.values()].filter((each) => each._meta?.collection?.includes(name))
  return {
    async setup(actor) {
      if (actor) objects.set(actor.id, actor)
    },
    getObject: async (id, hasMeta) => shown(objects.get(id), hasMeta === true),
    async saveObject(object) {
      if (objects.has(object.id)) return false
      objects.set(object.id, structuredClone(object))
      return true
    },
    async updateObject(object, _actor, isWhole) {
      const known = objects.get(object.id)
      if (known === undefined) return undefined
      objects.set(object.id, structuredClone(isWhole ? object : { ...known, ...object }))
      return shown(objects.get(object.id), false)
    },
    getActivity: async (id, hasMeta) => shown(activities.get(id), hasMeta),
    findActivityByCollectionAndObjectId: async (name, id, hasMeta) =>
      shown(
        inCollection(name).find(({ object }) => [object].flat().includes(id)),
        hasMeta,
      ),
    findActivityByCollectionAndActorId: async (name, id, hasMeta) =>
      shown(
        inCollection(name).find(({ actor }) => [actor].flat().includes(id)),
        hasMeta,
      ),
    getStream: async (name, limit) =>
      inCollection(name)
        .slice(0, Number.isFinite(limit) ? limit : undefined)
        .map((each) => ({ ...shown(each, false), actor: [each.actor].flat().map((id) => shown(objects.get(id))) })),
    getStreamCount: async (name) => inCollection(name).length,
    getUserCount: async () => objects.size,
    getContext: async (url) =>
      url in contexts ? { contextUrl: null, documentUrl: url, document: contexts[url] } : undefined,
    saveContext: async () => undefined,
    async saveActivity(activity) {
      if (activities.has(activity.id)) return undefined
      activities.set(activity.id, structuredClone(activity))
      return true
    },
    removeActivity: async ({ id }) => activities.delete(id),
    async updateActivity(activity, isWhole) {
      const whole = isWhole ? activity : { ...activities.get(activity.id), ...activity }
      activities.set(activity.id, structuredClone(whole))
      return whole
    },
    async updateActivityMeta({ id }, key, value, isRemoved) {
      const row = activities.get(id)
      if (row === undefined) throw new Error('there is no such activity')
      const rest = (row._meta?.[key] ?? []).filter((each) => each !== value)
      row._meta = { ...row._meta, [key]: isRemoved ? rest : [...rest, value] }
      return shown(row, true)
    },
    generateId: () => randomUUID().replaceAll('-', ''),
    async deliveryEnqueue(actorId, body, addresses, signingKey) {
      for (const address of [addresses].flat())
        queue.push({ address, actorId, signingKey, body, attempt: 0, after: new Date() })
      return true
    },
    async deliveryDequeue() {
      const due = queue.findIndex(({ after }) => after <= new Date())
      if (due >= 0) return queue.splice(due, 1)[0]
      return queue.length === 0 ? null : { waitUntil: queue[0].after }
    },
    async deliveryRequeue(delivery) {
      queue.push({ ...delivery, after: new Date(Date.now() + 10 ** delivery.attempt), attempt: delivery.attempt + 1 })
      return true
    },
  }
}
