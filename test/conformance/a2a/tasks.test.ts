// A2A cases: tasks.

import { conformA2a } from './scene.ts'
import { taskCases } from './task-cases.ts'

conformA2a('A2A task', taskCases)
