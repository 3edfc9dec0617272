// Whether a body calls itself an activity: by the one type, or by JSON-LD with the profile of ActivityStreams.

const profile = 'https://www.w3.org/ns/activitystreams'

export function isActivityMediaType(header: string | undefined): boolean {
  const [type = '', ...params] = (header ?? '').slice(0, 512).split(';')
  const bare = type.trim().toLowerCase()
  if (bare === 'application/activity+json') return true
  return bare === 'application/ld+json' && params.some(namesProfile)
}

/** Profiles are a list with blanks between them. */
function namesProfile(param: string): boolean {
  const [name = '', value = ''] = param.split('=', 2)
  if (name.trim().toLowerCase() !== 'profile') return false
  return value.trim().replaceAll('"', '').split(' ').includes(profile)
}
