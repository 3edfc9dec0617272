// a2a 11.6-11.8.

import { conformA2a } from './scene.ts'
import { taskCases } from './task-cases.ts'

conformA2a('A2A task', taskCases)
