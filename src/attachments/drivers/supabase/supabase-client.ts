// One request to a project's storage, with its key; `path` begins after `/storage/v1`.

export type SupabaseClient = (path: string, init: RequestInit) => Promise<Response>
