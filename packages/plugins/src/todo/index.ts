/** Lists that the model keeps of its work: `todoList()` for a plain one, `taskList()` for tasks that wait for each other. */

export { todoList } from "./todo-list.ts";
export { taskList } from "./task-list.ts";
