//! The real binary, as a person and as a program meet it.

mod approvals;
mod cards;
mod daemon;
mod databases;
mod demo;
mod doctor;
mod hooks;
mod house;
mod inside;
mod json;
mod purge;
mod refusals;
mod scripted;
mod several;
mod streams;
mod terminal;
mod todo;
mod tools;
mod waits;
mod workflows;
