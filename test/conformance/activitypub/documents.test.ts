// The cases of documents and discovery, and those of signatures where other servers are looked up.
import { conform } from '../conform.ts'
import { documentCases } from './document-cases.ts'
import { remoteCases } from './remote-cases.ts'

conform('ActivityPub: what others find of us', documentCases)
conform('ActivityPub: what we find of others', remoteCases)
